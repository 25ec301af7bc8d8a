"""Files in, files out: read by content, and what does not change stays to the letter."""

import csv
import io
import re
import zipfile
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import N_ROWS, csv_text, small_frame
from tabular.bad_files import BAD, archive, lines
from unmuddle.errors import InvalidDataError, UnmuddleError
from unmuddle.tabular import Column, Kind, Roles, features_of, prepare, read_list, read_source, write_list
from unmuddle.tabular.lists import FORMULA
from unmuddle.tabular.text import spans

ENCODINGS = {"utf-8": b"", "utf-8-sig": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
"""With the mark that a file begins with."""


def write(folder, content, name="data"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(folder, content, roles=None):
    """The message for a file that cannot be used; one line that names the file."""
    path = write(folder, content)
    with pytest.raises(InvalidDataError) as caught:
        prepare(read_source(path), roles or Roles("species"))
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text_comes_back_to_the_byte_but_for_the_changed_cell(tmp_path, delimiter, end):
    text = csv_text(delimiter, end=end)
    path = write(tmp_path, text)
    source = read_source(path)
    assert source.delimiter == delimiter
    assert source.edit({}) == path.read_bytes()
    edited = source.edit({(4, 6): "pale, or; so|\t", (4, 1): "1.00", (59, 7): "oak"}).decode()
    before, after = text.split(end), edited.split(end)
    assert [place for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [5, 60]
    old, new = before[5].split(delimiter), next(csv.reader([after[5]], delimiter=delimiter))
    assert new[6] == "pale, or; so|\t"
    assert new[1] == "1.00"
    assert new[5] == old[5] == f" {small_frame()['count'][4]}"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_are_found_and_kept(tmp_path, encoding):
    mark, codec = ENCODINGS[encoding], encoding.replace("-sig", "")
    text = csv_text().replace("ash", "Äsche 😀")
    path = write(tmp_path, mark + text.encode(codec))
    source = read_source(path)
    assert source.names[0] == "tag"
    assert source.notes == ()
    assert source.edit({(0, 7): "Ölbaum"}) == mark + text.replace("Äsche 😀", "Ölbaum", 1).encode(codec)


def test_unmarked_utf16_and_latin1_are_read(tmp_path):
    assert read_source(write(tmp_path, csv_text().encode("utf-16-le"))).edit({}) == csv_text().encode("utf-16-le")
    latin = csv_text().replace("birch", "bouleau né").encode("latin-1")
    source = read_source(write(tmp_path, latin))
    assert "Latin-1" in source.notes[0]
    assert source.edit({}) == latin
    with pytest.raises(InvalidDataError, match="Save the file as UTF-8"):
        source.edit({(0, 7): "😀"})


CELL = st.text(alphabet='ab,"\n\r ;', max_size=5)


@settings(max_examples=200, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=5))
def test_cells_are_found_where_the_csv_module_finds_them(cells):
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow(cells)
    record = stream.getvalue()
    found = [record[start:end] for start, end in spans(record, ",")]
    assert [next(csv.reader(io.StringIO(cell, newline="")), [""])[0] for cell in found] == cells


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='ab,"', max_size=12))
def test_even_odd_quotes_are_split_as_the_csv_module_does(record):
    assert len(list(spans(record, ","))) == max(1, len(next(csv.reader([record]), [])))


def test_types_are_inferred_and_what_says_nothing_is_left_out(tmp_path):
    frame = small_frame()
    frame["day"] = [f"{1 + row % 28:02d}.03.2024 10:15" for row in range(N_ROWS)]
    frame["zip"] = [f"0{row % 7}123" for row in range(N_ROWS)]
    frame["number"] = range(1, N_ROWS + 1)
    frame["serial"] = [10**17 + row * 7 for row in range(N_ROWS)]
    frame["nothing"] = ""
    frame["remark"] = [f"note {row % 110}" for row in range(N_ROWS)]
    table = prepare(read_source(write(tmp_path, frame.to_csv(index=False))), Roles("species"))
    kinds = {column.name: column.kind for column in (*table.features, *table.ignored)}
    assert kinds == {
        "length": Kind.NUMBER, "width": Kind.NUMBER, "depth": Kind.NUMBER, "height": Kind.NUMBER, "count": Kind.WHOLE,
        "colour": Kind.CATEGORY, "zip": Kind.CATEGORY, "tag": Kind.ID, "day": Kind.DATE, "number": Kind.ID,
        "serial": Kind.ID, "nothing": Kind.EMPTY, "remark": Kind.TEXT,
    }  # fmt: skip
    assert len(table.notes) == 7
    assert "--id 'tag'" in table.notes[-1]
    pd.testing.assert_frame_equal(
        table.X[["length", "height", "count"]], frame[["length", "height", "count"]], check_dtype=False
    )


def test_decimal_commas_are_numbers_where_they_part_no_cells(tmp_path):
    table = prepare(read_source(write(tmp_path, csv_text(";", comma=True))), Roles("species"))
    np.testing.assert_array_equal(table.X["length"], small_frame()["length"])
    assert table.feature("length").text_of(-0.001) == "0,00"
    assert table.feature("length").text_of(12.3456) == "12,35"
    assert table.feature("count").text_of(7.0) == "7"


def excel(frame):
    pytest.importorskip("openpyxl")
    stream = io.BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as book:
        frame.to_excel(book, sheet_name="trees", index=False)
        pd.DataFrame({"other": [1]}).to_excel(book, sheet_name="more", index=False)
    return stream.getvalue()


def parquet(frame):
    pytest.importorskip("pyarrow")
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def test_excel_keeps_all_but_the_changed_cells(tmp_path):
    source = read_source(write(tmp_path, excel(small_frame()), "wrong_name.csv"))
    table = prepare(source, Roles("species"))
    np.testing.assert_array_equal(table.X["width"], small_frame()["width"])
    assert table.feature("count").kind is Kind.WHOLE
    assert source.suffix == ".xlsx"
    again = pd.read_excel(io.BytesIO(source.edit({(10, 2): "201.5", (31, 4): "5.5", (3, 7): "=1+1"})), sheet_name=None)
    expected = small_frame()
    expected.loc[10, "width"], expected.loc[31, "height"], expected.loc[3, "species"] = 201.5, 5.5, "=1+1"
    pd.testing.assert_frame_equal(again["trees"], expected, check_dtype=False)
    assert again["more"]["other"].tolist() == [1]


def test_parquet_keeps_types_and_all_but_the_changed_cells(tmp_path):
    frame = small_frame()
    frame["colour"] = frame["colour"].astype("category")
    frame["count"] = frame["count"].astype("uint8")
    frame["when"] = pd.Timestamp("2024-02-03")
    frame["flag"] = frame["count"] > 12
    source = read_source(write(tmp_path, parquet(frame)))
    table = prepare(source, Roles("species"))
    np.testing.assert_array_equal(table.X["width"], frame["width"])
    assert [column.name for column in table.ignored] == ["tag", "when"]
    edited = source.edit({(10, 2): "201.5", (5, 5): "17", (3, 7): "oak", (2, 6): "red", (0, 9): "True"})
    expected = frame.copy()
    expected.loc[10, "width"], expected.loc[5, "count"] = 201.5, 17
    expected.loc[3, "species"], expected.loc[2, "colour"], expected.loc[0, "flag"] = "oak", "red", True
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(edited)), expected)


@pytest.mark.parametrize(
    "labels", [np.arange(60) % 3, np.array(["a", "b", "c"] * 20), (np.arange(60) % 2).astype(bool)]
)
def test_npz_keeps_types_and_all_but_the_changed_cells(tmp_path, labels):
    X, extra = np.arange(240, dtype=np.float32).reshape(60, 4) ** 1.5, np.arange(3)
    source = read_source(write(tmp_path, archive(X=X, y=labels, extra=extra)))
    table = prepare(source, Roles())
    assert table.y.tolist() == [str(label) for label in labels]
    other = str(labels[1])
    with np.load(io.BytesIO(source.edit({(5, 2): repr(float(np.float32(0.1))), (0, 4): other}))) as again:
        X[5, 2] = 0.1
        expected = labels.copy()
        expected[0] = labels[1]
        np.testing.assert_array_equal(again["X"], X)
        np.testing.assert_array_equal(again["y"], expected)
        np.testing.assert_array_equal(again["extra"], extra)
        assert (again["X"].dtype, again["y"].dtype) == (X.dtype, labels.dtype)


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_in_one_line_with_place_and_remedy(tmp_path, case, capsys):
    content, expected = BAD[case]
    message = refused(tmp_path, content)
    assert re.search(expected, message), message
    assert "must never run" not in capsys.readouterr().out


def test_damaged_excel_and_parquet_are_refused(tmp_path):
    book = excel(small_frame())
    assert "cut off" in refused(tmp_path, book[: len(book) // 2])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr("xl/workbook.xml", "<broken")
    assert "workbook must be whole" in refused(tmp_path, stream.getvalue())
    table = parquet(small_frame())
    assert "Parquet file must be whole" in refused(tmp_path, table[: len(table) // 2])


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InvalidDataError, match="it is a folder"):
        read_source(tmp_path)
    with pytest.raises(InvalidDataError, match="there is none"):
        read_source(tmp_path / "nowhere.csv")


def test_ten_thousand_columns_are_read(tmp_path):
    header = ",".join([*(f"c{place}" for place in range(10_000)), "species"])
    rows = [",".join([*(str((place * row) % 17) for place in range(10_000)), "xy"[row % 2]]) for row in range(20)]
    table = prepare(read_source(write(tmp_path, "\n".join([header, *rows]))), Roles("species"))
    assert table.X.shape == (20, 10_000)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 400))
def test_no_bytes_lead_to_anything_but_a_table_or_our_own_error(tmp_path_factory, junk, at, cut):
    content = "\n".join(lines()).encode()
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(content[:at] + junk + content[at + cut :])
    with suppress(UnmuddleError):
        source = read_source(path)
        assert source.edit({}) == path.read_bytes()
        prepare(source, Roles("species"))


def test_columns_for_a_model_are_found_by_name_and_type(tmp_path):
    source = read_source(write(tmp_path, csv_text(";", comma=True)))
    found = features_of(source, [("colour", False), ("length", True)], "tag")
    assert found.columns.tolist() == ["colour", "length"]
    np.testing.assert_array_equal(found["length"], small_frame()["length"])
    assert found.index[3] == "tree-3"
    with pytest.raises(InvalidDataError, match=r"the 2 columns.*'lenght' is not there, but .*'length'"):
        features_of(source, [("colour", False), ("lenght", True)], None)
    with pytest.raises(InvalidDataError, match="line 2, column 'colour': the column must hold numbers"):
        features_of(source, [("colour", True)], None)


TEXT = st.text(alphabet="=+-@\t'\" ,;1.5a\n\rä😀<", max_size=8)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_lists_come_back_as_they_were_and_hold_no_formula(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "list.csv"
    path.write_bytes(write_list(["one", "two"], rows))
    _, found = read_list(path, ["one"])
    assert [(line["one"], line["two"]) for line in found] == rows
    for record in csv.reader(io.StringIO(path.read_bytes().decode(), newline="")):
        assert not any(cell.startswith(FORMULA) and not _is_number(cell) for cell in record)


def _is_number(text):
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("text", "fitting"), [("20", "20"), (" 20", "20"), ("20,512", None), ("3.7", None)])
def test_whole_numbers_of_a_reviewer_are_whole(text, fitting):
    assert Column("count", Kind.WHOLE, np.arange(3)).fit(text) == fitting


@pytest.mark.parametrize("pattern", ["10.0.0.{}", "12 34 {}", "123 {}", "2020 01 {}"])
def test_names_made_of_digits_are_categories(tmp_path, pattern):
    names = [pattern.format(row % 20 + 10) for row in range(40)]
    lines = [f'"{name}";{row * 7 % 13};{"ab"[row % 2]}' for row, name in enumerate(names)]
    path = tmp_path / "table.csv"
    path.write_text("name;size;kind\n" + "\n".join(lines) + "\n", encoding="utf-8")
    assert prepare(read_source(path), Roles("kind")).features[0].kind is Kind.CATEGORY


@pytest.mark.parametrize("pattern", ["{}.5%", "${},500.00", "-${}.00", "{}.234,50", "{} €"])
@pytest.mark.parametrize("rows", [20, 40])
def test_amounts_with_signs_are_not_taken_for_categories(tmp_path, pattern, rows):
    amounts = [pattern.format(row % rows + 1) for row in range(40)]
    kinds = ["ash", "birch"] * 20
    lines = [f'"{amount}";{row * 7 % 13};{kind}' for row, (amount, kind) in enumerate(zip(amounts, kinds, strict=True))]
    path = tmp_path / "table.csv"
    path.write_text("amount;size;kind\n" + "\n".join(lines) + "\n", encoding="utf-8")
    table = prepare(read_source(path), Roles("kind"))
    assert [column.name for column in table.features] == ["size"]
    assert "it seems to hold amounts such as" in " ".join(table.notes)


@pytest.mark.parametrize(
    "patterns", [("{},234.50", "{}.50"), ("{},35", "{},2"), ("{}.565,47", "{},5"), ("{}.1 kg", "{} kg")]
)
def test_amounts_of_which_some_are_plain_get_the_note_that_says_what_to_write(tmp_path, patterns):
    cells = [patterns[row % 9 == 0].format(row + 1) for row in range(120)]
    lines = [f'"{cell}",{row * 7 % 13},{"ab"[row % 2]}' for row, cell in enumerate(cells)]
    path = tmp_path / "table.csv"
    path.write_text("amount,size,kind\n" + "\n".join(lines) + "\n", encoding="utf-8")
    table = prepare(read_source(path), Roles("kind"))
    assert [column.name for column in table.features] == ["size"]
    assert "it seems to hold amounts such as" in " ".join(table.notes)


@pytest.mark.parametrize("text", ["None", "n/a", "<NA>", "#N/A", "NULL", "-nan"])
def test_what_pandas_takes_for_missing_is_missing_in_labels_and_cells(tmp_path, text):
    lines = [f"{text if row == 3 else row * 7 % 13},{row},{text if row == 5 else 'ab'[row % 2]}" for row in range(40)]
    path = tmp_path / "table.csv"
    path.write_text("size,place,kind\n" + "\n".join(lines) + "\n", encoding="utf-8")
    table, expected = prepare(read_source(path), Roles("kind")), pd.read_csv(path)
    assert pd.isna(table.y).tolist() == expected["kind"].isna().tolist()
    assert pd.isna(table.X["size"]).tolist() == expected["size"].isna().tolist()
