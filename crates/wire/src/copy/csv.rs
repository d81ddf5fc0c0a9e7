//! The CSV format's fields: quotes and escapes (CopyReadAttributesCSV).

use steppe_types::Result;

use super::lines::Fields;
use super::scan::find;
use super::{CopyOptions, FieldPos, bad_format, flag};

/// Cuts `line` into fields. A field without quotes, or with one pair around it
/// and nothing to unescape, stays where it is.
pub(super) fn split(line: &[u8], options: &CopyOptions, out: &mut Fields<'_>) -> Result<()> {
    let null = options.null.as_bytes();
    let mut at = 0;
    loop {
        let (start, column) = (at, out.count);
        let needles = [options.delimiter, options.quote];
        let stop = find(&line[at..], needles).map_or(line.len(), |step| at + step);
        let end = if line.get(stop) == Some(&options.quote) {
            let (field, end) = quoted(line, start, stop, options, out)?;
            let forced_null =
                flag(&options.force_null, column) && content(line, field, out) == null;
            out.push(if forced_null { FieldPos::Null } else { field });
            end
        } else {
            out.push(unquoted(line, start, stop, column, options));
            stop
        };
        if end >= line.len() {
            return Ok(());
        }
        at = end + 1;
    }
}

/// With FORCE_NOT_NULL the value is the NULL string itself, which the line holds
/// right here.
fn unquoted(
    line: &[u8],
    start: usize,
    end: usize,
    column: usize,
    options: &CopyOptions,
) -> FieldPos {
    let written = &line[start..end];
    if written == options.null.as_bytes() && !flag(&options.force_not_null, column) {
        FieldPos::Null
    } else if Some(written) == options.default.as_deref().map(str::as_bytes) {
        FieldPos::Default
    } else {
        FieldPos::Raw(start as u32, end as u32)
    }
}

fn content<'a>(line: &'a [u8], field: FieldPos, out: &'a Fields<'_>) -> &'a [u8] {
    match field {
        FieldPos::Null | FieldPos::Default => &[],
        FieldPos::Raw(start, end) => &line[start as usize..end as usize],
        FieldPos::Unescaped(start, end) => &out.scratch[start as usize..end as usize],
    }
}

/// Decodes the field that begins at `start` and has its first quote at `open`; returns it and its
/// end in the line.
fn quoted(
    line: &[u8],
    start: usize,
    open: usize,
    options: &CopyOptions,
    out: &mut Fields<'_>,
) -> Result<(FieldPos, usize)> {
    if start == open
        && let Some(close) = plain_quotes(line, open, options)
    {
        return Ok((FieldPos::Raw(open as u32 + 1, close as u32), close + 1));
    }
    let kept = out.scratch.len();
    out.scratch.extend_from_slice(&line[start..open]);
    let mut at = open;
    loop {
        at = quoted_part(line, at + 1, options, out.scratch)?;
        let needles = [options.delimiter, options.quote];
        let stop = find(&line[at..], needles).map_or(line.len(), |step| at + step);
        out.scratch.extend_from_slice(&line[at..stop]);
        at = stop;
        if line.get(at) != Some(&options.quote) {
            return Ok((FieldPos::Unescaped(kept as u32, out.scratch.len() as u32), at));
        }
    }
}

/// The closing quote of a field that is one quoted part without escapes.
fn plain_quotes(line: &[u8], open: usize, options: &CopyOptions) -> Option<usize> {
    let inside = &line[open + 1..];
    let close = open + 1 + find(inside, [options.quote, options.escape])?;
    let closes = line[close] == options.quote
        && line.get(close + 1).is_none_or(|&next| next == options.delimiter);
    closes.then_some(close)
}

/// Appends the text between quotes from `at` on; returns the position behind the closing quote.
fn quoted_part(
    line: &[u8],
    mut at: usize,
    options: &CopyOptions,
    scratch: &mut Vec<u8>,
) -> Result<usize> {
    loop {
        let Some(step) = find(&line[at..], [options.quote, options.escape]) else {
            return Err(bad_format("unterminated CSV quoted field"));
        };
        scratch.extend_from_slice(&line[at..at + step]);
        at += step;
        let next = line.get(at + 1).copied();
        if line[at] == options.escape
            && let Some(next) = next.filter(|&n| n == options.escape || n == options.quote)
        {
            scratch.push(next);
            at += 2;
        } else if line[at] == options.quote {
            return Ok(at + 1);
        } else {
            scratch.push(line[at]);
            at += 1;
        }
    }
}
