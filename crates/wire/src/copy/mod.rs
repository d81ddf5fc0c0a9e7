//! COPY data: how rows are framed in the text, CSV and binary formats, both ways.
