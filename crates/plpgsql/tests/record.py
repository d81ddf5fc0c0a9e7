#!/usr/bin/env python3
"""Asks PostgreSQL 18 about every body of data/corpus.txt and writes data/answers.tsv.

Usage: crates/plpgsql/tests/record.py HOST PORT    (user postgres, no password; CI does not run it)

It makes the database plpgsql_corpus anew. A line of the answers: the body's number, SQLSTATE (00000 for
a body that is accepted), position in the body, message, detail, hint, context, warnings. A warning is
`position message`. Newlines are written \\n; a field that is absent is empty.
"""
import os, socket, struct, sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
TAG = "$corpus$"


class Session:
    def __init__(self, host, port, database):
        self.socket = socket.create_connection((host, int(port)))
        body = b"user\0postgres\0database\0" + database.encode() + b"\0\0"
        self.socket.sendall(struct.pack("!ii", len(body) + 8, 196608) + body)
        self.wait()

    def read(self, length):
        data = b""
        while len(data) < length:
            piece = self.socket.recv(length - len(data))
            if not piece:
                raise EOFError("the server closed the connection")
            data += piece
        return data

    def wait(self):
        """Reads up to ReadyForQuery: the error, if any, and the notices."""
        error, notices = None, []
        while True:
            kind = self.read(1)
            data = self.read(struct.unpack("!i", self.read(4))[0] - 4)
            if kind in b"EN":
                fields = {f[:1].decode(): f[1:].decode() for f in data.split(b"\0") if f}
                if kind == b"E":
                    error = fields
                else:
                    notices.append(fields)
            elif kind == b"Z":
                return error, notices

    def run(self, sql):
        body = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self.wait()


def corpus():
    """The bodies with their headers: `## result | arguments | settings`."""
    entries, head, lines = [], None, []
    for line in open(os.path.join(HERE, "corpus.txt"), encoding="utf-8"):
        if line.startswith("## "):
            if head is not None:
                entries.append((head, "".join(lines)[:-1]))
            head, lines = line[3:].strip(), []
        elif head is not None:
            lines.append(line)
    entries.append((head, "".join(lines)[:-1]))
    return entries


def statement(head):
    """What stands before the body, and the settings."""
    result, arguments, settings = ([part.strip() for part in head.split("|")] + ["", ""])[:3]
    if result == "do":
        return "do " + TAG, settings
    if result == "procedure":
        return f"create procedure f({arguments}) language plpgsql as " + TAG, settings
    returns = "" if result == "out" else f" returns {result}"
    return f"create function f({arguments}){returns} language plpgsql as " + TAG, settings


def main(host, port):
    admin = Session(host, port, "postgres")
    for sql in ("drop database if exists plpgsql_corpus", "create database plpgsql_corpus"):
        error, _ = admin.run(sql)
        if error:
            sys.exit(error["M"])
    session = Session(host, port, "plpgsql_corpus")
    error, _ = session.run(open(os.path.join(HERE, "schema.sql"), encoding="utf-8").read())
    if error:
        sys.exit(error["M"])
    with open(os.path.join(HERE, "answers.tsv"), "w", encoding="utf-8") as out:
        for number, (head, body) in enumerate(corpus()):
            before, settings = statement(head)
            sql = before + body + TAG
            session.run("begin")
            for setting in filter(None, settings.split(";")):
                session.run("set local " + setting)
            error, notices = session.run(sql)
            session.run("rollback")
            place = lambda fields: str(int(fields["P"]) - len(before)) if "P" in fields else ""
            error = error or {"C": "00000"}
            warnings = ["%s %s" % (place(n), n["M"]) for n in notices if n["V"] == "WARNING"]
            fields = [str(number), error["C"], place(error)]
            fields += [error.get(key, "") for key in "MDHW"] + [";".join(warnings)]
            out.write("\t".join(f.replace("\n", "\\n").replace("\t", "\\t") for f in fields) + "\n")


main(*sys.argv[1:3])
