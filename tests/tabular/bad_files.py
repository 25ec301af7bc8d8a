"""Files that people have, and that nothing can be learned from: content, and what the message must say."""

import io
import pickle

import numpy as np


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


class Bomb:
    """What a hostile file would hold."""

    def __reduce__(self):
        return (print, ("this must never run",))


def lines(n=60, label="species"):
    return [f"a,b,{label}", *(f"{row}.5,{row * 7 % 13},{'xyz'[row % 3]}" for row in range(n))]


BAD = {
    "empty": (b"", "it is empty"),
    "blank": (b"\n \n", "it is empty"),
    "binary junk": (bytes(range(1, 32)) * 40, "neither text nor"),
    "NUL bytes": ("\n".join(lines()).replace("7.5", "7\0.5").encode(), "line 9: text must not hold NUL"),
    "cut off": ("\n".join(lines())[:-6].encode(), "line 61: every line must have as many cells.*cut off"),
    "cut off in quotes": (("\n".join(lines()) + '\n1.5,2,"x\n').encode(), "line 62: a quote that is opened"),
    "a quote not closed": ("\n".join(lines()).replace("7.5,", '"7.5,').encode(), "line 9"),
    "a line too long": ("\n".join(lines()).replace("9.5,", "9.5,1,", 1).encode(), "line 11: every line.* 3 .*got 4"),
    "wrong delimiter": ("\n".join(lines()).replace(",", ":").encode(), "comma, semicolon, tab or bar"),
    "mixed types": ("\n".join(lines()).replace("7.5,", "about 7,", 1).encode(), "line 9, column 'a'.*'about 7'"),
    "infinite": ("\n".join(lines()).replace("7.5,", "inf,", 1).encode(), "line 9, column 'a'.*'inf'"),
    "duplicate headers": ("\n".join(lines()).replace("a,b", "a, a").encode(), "'a' is the name of columns 1 and 2"),
    "1 row": ("\n".join(lines(1)).encode(), "at least 10 rows.*got 1"),
    "header only": ("\n".join(lines(0)).encode(), "at least 10 rows.*got 0"),
    "1 class": ("\n".join(lines()).replace("y", "x").replace("z", "x").encode(), "column 'species': .*2 classes"),
    "a label that is an amount": ("\n".join(lines()).replace("a,b,species", "species,b,a").encode(), "60 different"),
    "all missing": (("a,b,species\n" + ",NA,x\n,?,y\n" * 20).encode(), "none does"),
    "no label at all": (("a,species\n" + "1,\n2,\n" * 20).encode(), "all are missing"),
    "label absent": ("\n".join(lines(label="speceis")).encode(), "got 'species'.*Nearest: 'speceis'"),
    "no header": ("\n".join(lines()[1:]).encode(), "first line seems to hold data"),
    "gzip": (b"\x1f\x8b\x08\x00" + b"\0" * 50, "gzip"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 50, "xlsx"),
    "PDF": (b"%PDF-1.7 ...", "PDF"),
    "pickle": (pickle.dumps([Bomb()] * 10), "pickle"),
    "cut-off archive": (archive(X=np.eye(40), y=np.arange(40))[:2000], "cut off"),
    "NPZ of objects": (archive(X=np.eye(40), y=np.array([Bomb()] * 40, dtype=object)), "Python objects"),
    "NPZ without X": (archive(data=np.eye(3)), "matrix X; got data"),
    "NPZ with a short y": (archive(X=np.eye(40), y=np.arange(39)), "one label for each of the 40 rows"),
    "UTF-16 cut in half": (b"\xff\xfe" + "\n".join(lines()).encode("utf-16-le")[:-1], "UTF-16"),
}
