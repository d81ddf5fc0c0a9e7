//! to_number: reading a number by a picture (NUM_processor and NUM_numpart_from_char in
//! formatting.c).
//!
//! Each digit place of the picture takes a character of the input, if it fits. Other parts of the
//! picture skip the corresponding input. The digits are then read as `numeric(p, s)`, with the
//! places of the picture before the point and the digits that were read after it.

use super::number::{Desc, Key, Node, ROMAN_LENGTH_MAX, parse, roman};
use crate::error::{Error, Result, SqlState};
use crate::interrupt::interruptible;
use crate::numeric::{Numeric, packed_typmod};

/// Reading state: the place in the input and the digits so far.
struct Reader<'a> {
    desc: Desc,
    rest: &'a [u8],
    /// The digits and the point, without sign.
    digits: String,
    sign: Option<char>,
    read_pre: usize,
    read_post: usize,
    seen_point: bool,
}

/// `to_number(text, picture)`; None (NULL) for an empty picture.
pub fn to_number(text: &str, picture: &str) -> Result<Option<Numeric>> {
    if picture.is_empty() {
        return Ok(None);
    }
    let (nodes, desc) = parse(picture)?;
    if desc.exponent {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "\"EEEE\" not supported for input",
        ));
    }
    let mut reader = Reader {
        desc,
        rest: text.as_bytes(),
        digits: String::new(),
        sign: None,
        read_pre: 0,
        read_post: 0,
        seen_point: false,
    };
    for node in interruptible(nodes.iter()) {
        if reader.rest.is_empty() {
            break;
        }
        match node {
            Node::Text(_) => reader.skip_char(),
            Node::Key(key) => reader.step(*key)?,
        }
    }
    reader.finish().map(Some)
}

impl Reader<'_> {
    fn starts_with(&self, c: u8) -> bool {
        self.rest.first() == Some(&c)
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// One character of the input, however long.
    fn skip_char(&mut self) {
        let more = self.rest.iter().skip(1).take_while(|b| **b & 0xC0 == 0x80).count();
        self.advance(1 + more);
    }

    /// Up to `count` characters that cannot belong to a number (NUM_eat_non_data_chars).
    fn skip_text(&mut self, count: usize) {
        for _ in 0..count {
            match self.rest.first() {
                Some(c) if !b"0123456789.,+-".contains(c) => self.skip_char(),
                _ => break,
            }
        }
    }

    fn step(&mut self, key: Key) -> Result<()> {
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::Decimal => {
                self.place(key);
                self.advance(1);
            }
            // In fill mode only a comma within the number would be skipped, but reading never
            // counts as being in one.
            Key::Comma | Key::Group if !self.desc.fill && self.starts_with(b',') => {
                self.advance(1);
            }
            Key::Currency => self.skip_text(1),
            Key::Ordinal { .. } => self.skip_text(2),
            Key::Minus => self.own_sign(&['-']),
            Key::Plus => self.own_sign(&['+']),
            Key::SignBoth => self.own_sign(&['-', '+']),
            Key::Roman { .. } => self.roman()?,
            _ => {}
        }
        Ok(())
    }

    /// MI, PL, SG: the sign, or anything else in its place.
    fn own_sign(&mut self, signs: &[char]) {
        match signs.iter().find(|sign| self.starts_with(**sign as u8)) {
            Some(sign) => {
                self.sign = Some(*sign);
                self.advance(1);
            }
            None => self.skip_text(1),
        }
    }

    /// A place of the number. It takes characters but for the last byte, which the caller skips.
    fn place(&mut self, key: Key) {
        if self.starts_with(b' ') {
            self.advance(1);
        }
        if self.rest.is_empty() {
            return;
        }
        let is_first = self.read_pre + self.read_post == 0;
        if self.sign.is_none() && matches!(key, Key::Nine | Key::Zero) && is_first {
            self.leading_sign();
        }
        let Some(first) = self.rest.first().copied() else { return };
        let mut is_read = false;
        if first.is_ascii_digit() {
            if self.seen_point && self.read_post == self.desc.post {
                return;
            }
            self.digits.push(first as char);
            let count = if self.seen_point { &mut self.read_post } else { &mut self.read_pre };
            *count += 1;
            is_read = true;
        } else if first == b'.' && self.desc.decimal && !self.seen_point {
            self.digits.push('.');
            self.seen_point = true;
            is_read = true;
        }
        if self.sign.is_none() && self.read_pre + self.read_post > 0 {
            self.trailing_sign(is_read);
        }
    }

    fn leading_sign(&mut self) {
        let sign = match self.rest.first() {
            Some(b'-') => '-',
            Some(b'+') => '+',
            Some(b'<') if self.desc.bracket => '-',
            _ => return,
        };
        self.sign = Some(sign);
        self.advance(1);
    }

    /// The sign behind what may have been the last digit, where the picture has one
    /// somewhere.
    fn trailing_sign(&mut self, is_read: bool) {
        let sign_at = |at: usize| match self.rest.get(at) {
            Some(b'-') => Some('-'),
            Some(b'+') => Some('+'),
            _ => None,
        };
        if self.desc.anchor.is_some() {
            // Anchored: it follows the digit at once.
            if is_read && let Some(sign) = sign_at(1) {
                self.sign = Some(sign);
                self.advance(1);
            }
        } else if !is_read && (self.desc.plus || self.desc.minus) {
            self.sign = sign_at(0);
        }
    }

    /// A Roman numeral, as to_char writes it, in any case and after blanks.
    fn roman(&mut self) -> Result<()> {
        let invalid = || Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid Roman numeral");
        let blanks = self.rest.iter().take_while(|c| matches!(**c, b' ' | b'\t'..=b'\r')).count();
        self.advance(blanks);
        let is_letter = |c: &u8| b"IVXLCDM".contains(&c.to_ascii_uppercase());
        let numeral: String = self
            .rest
            .iter()
            .take(ROMAN_LENGTH_MAX)
            .take_while(|c| is_letter(c))
            .map(|c| c.to_ascii_uppercase() as char)
            .collect();
        self.advance(numeral.len());
        let weight = |c: char| match c {
            'I' => 1,
            'V' => 5,
            'X' => 10,
            'L' => 50,
            'C' => 100,
            'D' => 500,
            _ => 1000,
        };
        let letters: Vec<i32> = numeral.chars().map(weight).collect();
        // A letter before a greater one is subtracted. Any other spelling than the one that
        // to_char gives the result is wrong.
        let signed = letters.iter().enumerate().map(|(i, v)| match letters.get(i + 1) {
            Some(next) if next > v => -v,
            _ => *v,
        });
        let value = signed.sum::<i32>().to_string();
        if numeral.is_empty() || roman(&value) != numeral {
            return Err(invalid());
        }
        self.desc.pre = value.len();
        self.digits.push_str(&value);
        Ok(())
    }

    fn finish(mut self) -> Result<Numeric> {
        if self.digits.ends_with('.') {
            self.digits.pop();
        }
        let text = format!("{}{}", self.sign.unwrap_or(' '), self.digits);
        let precision = self.desc.pre + self.desc.shift + self.read_post;
        let typmod = packed_typmod(precision as i32, self.read_post as i32);
        let value = Numeric::parse_typmod(&text, typmod)?;
        if !self.desc.multi {
            return Ok(value);
        }
        let ten = Numeric::from(10);
        value.mul(&ten.power(&Numeric::from(-(self.desc.shift as i64)))?)
    }
}
