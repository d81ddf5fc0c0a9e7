-- The extension that is there from the start: PL/pgSQL.
\dx
