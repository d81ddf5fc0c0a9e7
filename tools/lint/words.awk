# The sentences of code comments that match one of the patterns of words.sh, one a line:
# "crate<TAB>pattern<TAB>file:line<TAB>sentence". Input: Rust files below crates/.
#
# A comment is a run of lines that begin with //, /// or //!. Its sentences end at '. ', '? ', '! ', at the
# end of a paragraph, and before an item of a list. Code blocks, tables and headings are left out.

function start_file() {
    flush()
    file = FILENAME
    split(file, part, "/")
    crate = part[2]
    in_code = 0
}

# Cuts the paragraph into sentences.
function flush(    rest, first) {
    rest = paragraph
    first = 1
    while (rest != "") {
        if (match(rest, /[.?!][)"]? +[A-Z\[`*(]/)) {
            sentence(substr(rest, 1, RSTART + RLENGTH - 2), first)
            rest = substr(rest, RSTART + RLENGTH - 1)
        } else {
            sentence(rest, first)
            rest = ""
        }
        first = 0
    }
    paragraph = ""
}

function found(pattern) {
    printf "%s\t%s\t%s:%d\t%s\n", crate, pattern, file, paragraph_line, text
}

function sentence(written, first,    plain, words, marks, count, unused) {
    text = written
    sub(/ +$/, "", text)
    plain = text
    gsub(/`[^`]*`/, "x", plain)             # code is not prose
    gsub(/\[[^\]]*\]/, "x", plain)
    marks = plain
    count = gsub(/[:;]( |$)/, " ", marks)
    words = split(plain, unused, /[ \t]+/)
    gsub(/[^A-Za-z']/, " ", plain)
    plain = " " tolower(plain) " "
    gsub(/ +/, " ", plain)
    gsub(/ (goes|go|gone|went) (on|to|into|through|down|up|ahead) /, " x ", plain)
    gsub(/ so long as /, " x ", plain)

    if (first && is_doc && plain ~ /^ what /) found("begins with What")
    if (plain ~ / (who|whom|whoever) /) found("who, whom")
    if (plain ~ / (nobody|somebody|anybody)('s)? /) found("nobody, somebody")
    if (plain ~ / so (many|long) /) found("so many, so long")
    if (plain ~ / (comes?|coming|came) (to|of) /) found("comes to")
    if (plain ~ / (apart|alike) /) found("apart, alike")
    if (plain ~ / (whatever|whichever|be it) /) found("whatever, be it")
    if (plain ~ /^ of /) found("begins with Of")
    if (plain ~ /^ (no|not|nothing|never|none|neither|nobody) /) found("begins with a negation")
    if (plain ~ / (goes|go|gone|went) /) found("goes, go")
    if (plain ~ / those (that|who|which) /) found("those that")
    if (words > 40) found("more than 40 words")
    if (count >= 2) found("two colons or semicolons")
}

FNR == 1 { start_file() }

{
    if (match($0, /^ *\/\/[\/!]? ?/)) {
        line = substr($0, RLENGTH + 1)
        mark = substr($0, 1, RLENGTH)
        if (line ~ /^ *```/) { flush(); in_code = !in_code; next }
        if (in_code) next
        if (line ~ /^ *$/ || line ~ /^ *[|#]/ || line ~ /^    /) { flush(); next }
        if (line ~ /^ *([-*]|[0-9]+\.) /) { flush(); sub(/^ *([-*]|[0-9]+\.) +/, "", line) }
        if (paragraph == "") {
            paragraph_line = FNR
            is_doc = mark ~ /\/\/[\/!]/
            paragraph = line
        } else {
            paragraph = paragraph " " line
        }
    } else {
        if (paragraph != "") flush()
        in_code = 0
    }
}

END { flush() }
