"""Reading and writing of PrefLib files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bucketrank as br
from bucketrank.__main__ import main
from bucketrank.csv_records import BadFileError
from strategies import profiles

HEADER = """# FILE NAME: example.toi
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 3
# TITLE: drinks
# ALTERNATIVE NAME 1: tea
# ALTERNATIVE NAME 2: coffee
# ALTERNATIVE NAME 3: juice
"""


def write_file(folder: Path, text: str, name: str = "example.toi") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_counts_names_ties_and_unranked_alternatives(tmp_path: Path) -> None:
    file = write_file(tmp_path, HEADER + "5: 1,{2,3}\n3: 2\n1: {1,3},2\n")
    Y, labels, weights = br.read_preflib(file)
    assert labels == ["tea", "coffee", "juice"]
    assert weights is not None
    assert weights.tolist() == [5, 3, 1]
    nan = np.nan
    np.testing.assert_array_equal(Y, [[1, 2, 2], [nan, 1, nan], [1, 2, 1]])


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["tea", "tea", "juice"], ["tea (1)", "tea (2)", "juice"]),
        # The numbered name of the first alternative is the name of the third.
        (["a", "a", "a (1)"], ["a (1)", "a (2)", "a (1) (3)"]),
    ],
)
def test_repeated_names_get_numbers(tmp_path: Path, names: list[str], labels: list[str]) -> None:
    text = HEADER + "1: 1,2,3\n"
    for old, new in zip(["tea", "coffee", "juice"], names, strict=True):
        text = text.replace(f": {old}", f": {new}")
    assert br.read_preflib(write_file(tmp_path, text))[1] == labels


def test_a_comment_of_many_spaces_is_read_in_linear_time(tmp_path: Path) -> None:
    text = HEADER + "#" + " " * 100_000 + "no key\n2: 1,2\n"
    assert br.read_preflib(write_file(tmp_path, text)).positions.shape == (1, 3)


def test_categories_are_positions(tmp_path: Path) -> None:
    text = HEADER.replace("toi", "cat") + "2: {},{1,2},3\n"
    Y, _, _ = br.read_preflib(write_file(tmp_path, text, "example.cat"))
    assert Y.tolist() == [[1, 1, 2]]


def test_files_of_categories_follow_the_specification(tmp_path: Path) -> None:
    """Each ballot names all categories, also empty ones, and the header counts preferences, not orders."""
    file = tmp_path / "drinks.cat"
    br.write_preflib(file, [[1, 2, 3], [1, 1, 1]], weights=[1, 2])
    header, ballots = file.read_text().splitlines()[:-2], file.read_text().splitlines()[-2:]
    assert "# NUMBER UNIQUE PREFERENCES: 2" in header
    assert not any("ORDERS" in line for line in header)
    assert ballots == ["2: {1,2,3},{},{}", "1: 1,2,3"]
    assert br.read_preflib(file).positions.tolist() == [[1, 1, 1], [1, 2, 3]]


@given(data=st.data())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    Y = np.array(data.draw(profiles()))
    Y = Y[~np.isnan(Y).all(axis=1)]
    if not len(Y):
        return
    folder = tmp_path_factory.mktemp("preflib")
    for ending in ("toi", "cat"):
        br.write_preflib(folder / f"a.{ending}", Y)
        again, labels, weights = br.read_preflib(folder / f"a.{ending}")
        assert labels == [str(label) for label in range(Y.shape[1])]
        counts = np.ones(len(again)) if weights is None else weights
        assert counts.sum() == len(Y)
        for one, other in zip(
            br.pair_order_matrix(Y), br.pair_order_matrix(again, counts), strict=True
        ):
            np.testing.assert_allclose(one, other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n", r"no line '# NUMBER ALTERNATIVES"),
        (HEADER, r"no ballots"),
        (HEADER + "5: 1,4\n", r"line 8: alternative 4; expected a number from 1 to 3"),
        (HEADER + "5: 1,1\n", r"line 8: alternative 1 appears twice"),
        (HEADER + "x: 1,2\n", r"line 8: count 'x'; expected a number above 0"),
        (HEADER + "5: 1,2,\n", r"line 8: '2,'; expected alternatives"),
        (HEADER + "5: 1, {2,3} , \n", r"line 8: '\{2,3\} ,'; expected alternatives"),
        (HEADER + "5: ,1\n", r"line 8: ',1'; expected alternatives"),
        (HEADER + "5: {1,},2\n", r"line 8: '1,'; expected numbers of alternatives"),
        (HEADER + "1_0: 1,2\n", r"line 8: count '1_0'; expected a number above 0"),
        (HEADER + "٣: 1,2\n", r"line 8: count '٣'; expected a number above 0"),
        (HEADER + "1: 1,٣\n", r"line 8: '٣'; expected alternatives"),
        (HEADER + "inf: 1,2\n", r"line 8: count 'inf'; expected a number above 0"),
        (
            HEADER + f"{2**53 + 1}: 1,2\n",
            r"line 8: count '9007199254740993' cannot be read exactly",
        ),
        (HEADER.replace("VES: 3", "VES: 1_0") + "1: 1\n", r"line 3: '1_0' alternatives"),
        (HEADER + "1,2,3\n", r"line 8: '1,2,3'; expected a count, a colon and a ballot"),
        (HEADER + "2: 1,{2\n", r"line 8: '\{2'; expected alternatives"),
        (HEADER.replace("toi\n# N", "soi\n# N") + "2: {1,2}\n", r"line 8: .* are tied"),
        (HEADER.replace("toi\n# N", "soc\n# N") + "2: 1,2\n", r"line 8: alternative 3 is missing"),
        (HEADER.replace("toi\n# N", "xyz\n# N") + "2: 1,2\n", r"line 2: data type 'xyz'"),
        (HEADER.replace("VES: 3", "VES: 1"), r"line 3: '1' alternatives"),
        (HEADER.replace("VES: 3", "VES: 65536") + "1: 1\n", r"line 3: '65536' alternatives"),
        (HEADER.replace("NAME 3", "NAME 4"), r"line 7: alternative 4; expected a number"),
        (HEADER.replace("NAME 3", "NAME " + "1" * 5000), r"line 7: alternative 1{60}; expected"),
    ],
)
def test_bad_files_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    file = write_file(tmp_path, text)
    with pytest.raises(BadFileError, match=message) as caught:
        br.read_preflib(file)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize(
    ("key", "stated", "reason"),
    [
        ("NUMBER VOTERS", 9, "may be truncated"),
        ("NUMBER VOTERS", 7, "may be out of date"),
        ("NUMBER UNIQUE ORDERS", 3, "may be truncated"),
        ("NUMBER UNIQUE PREFERENCES", 3, "may be truncated"),
    ],
)
def test_counts_of_the_header_must_be_those_of_the_ballots(
    tmp_path: Path, key: str, stated: int, reason: str
) -> None:
    file = write_file(tmp_path, f"# {key}: {stated}\n{HEADER}5: 1,{{2,3}}\n3: 2\n")
    found = 8 if key == "NUMBER VOTERS" else 2
    message = (
        rf"line 1: {key} is {stated}, but the ballots have {found}; the (file|header) {reason}"
    )
    with pytest.raises(BadFileError, match=message):
        br.read_preflib(file)
    write_file(tmp_path, file.read_text().replace(f": {stated}", f": {found}", 1))
    assert len(br.read_preflib(file).positions) == 2
    write_file(tmp_path, file.read_text().replace(f": {found}", ": many", 1))
    with pytest.raises(BadFileError, match=rf"line 1: {key} is 'many'; expected a whole number"):
        br.read_preflib(file)


def test_counts_of_the_header_allow_repeated_orders_and_weights(tmp_path: Path) -> None:
    repeated = f"# NUMBER VOTERS: 9\n# NUMBER UNIQUE ORDERS: {{}}\n{HEADER}5: 1,2\n3: 2,1\n1: 1,2\n"
    for orders in (2, 3):
        found = br.read_preflib(write_file(tmp_path, repeated.format(orders)))
        assert found.positions.shape == (3, 3)
    weighted = f"# NUMBER VOTERS: 7\n# NUMBER UNIQUE ORDERS: 2\n{HEADER}2.5: 1,2\n0.5: 2,1\n"
    assert br.read_preflib(write_file(tmp_path, weighted)).positions.shape == (2, 3)


def test_rankings_that_a_file_type_cannot_store_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"row 0: labels 0 and 1 are tied.*\.toc"):
        br.write_preflib(tmp_path / "a.soc", [[1, 1, 2]])
    with pytest.raises(ValueError, match=r"row 0, label 2: position missing.*\.toi"):
        br.write_preflib(tmp_path / "a.toc", [[1, 1, np.nan]])
    with pytest.raises(ValueError, match=r"row 1: weight 0.5"):
        br.write_preflib(tmp_path / "a.toc", [[1, 2], [2, 1]], weights=[1, 0.5])
    with pytest.raises(ValueError, match=r"row 0 ranks no label"):
        br.write_preflib(tmp_path / "a.toi", [[np.nan, np.nan]])
    with pytest.raises(ValueError, match=r"ending '.csv'; expected one of .soc"):
        br.write_preflib(tmp_path / "a.csv", [[1, 2]])
    assert list(tmp_path.iterdir()) == []


def test_ballots_are_counted_with_their_weights(tmp_path: Path) -> None:
    found = br.read_preflib(write_file(tmp_path, HEADER + "5: 1,{2,3}\n3: 2\n"))
    counts = br.PairCounts.of(found)
    assert counts.labels == found.labels
    assert counts.table.tolist() == [[5, 0, 0], [5, 0, 0], [0, 5, 0]]
    assert br.PairCounts.of(found, [1, 1]).ranked.tolist() == [1, 2, 1]
    expected = br.Borda().aggregate(found.positions, found.weights)
    assert br.Borda().aggregate_counts(counts).tolist() == expected.tolist()


def test_large_weights_are_written_as_they_are(tmp_path: Path) -> None:
    br.write_preflib(tmp_path / "a.soc", [[1, 2], [2, 1]], weights=[2.0**600, 2.0**53])
    ballots = (tmp_path / "a.soc").read_text().splitlines()[-2:]
    assert ballots == [f"{2**600}: 1,2", f"{2**53}: 2,1"]
    again = br.read_preflib(tmp_path / "a.soc").weights
    assert again is not None
    assert again.tolist() == [2.0**600, 2.0**53]


def test_the_aggregate_command_reads_preflib_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_file(tmp_path, HEADER + "5: 1,{2,3}\n3: 2,3\n")
    assert main(["aggregate", str(file), "--method", "borda", "--beta", "0"]) == 0
    assert "tea > coffee > juice" in capsys.readouterr().out
    assert main(["aggregate", str(file), "--labels", "juice", "tea", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == ["juice", "tea"]


SURVEY = "name,age,tea,coffee,juice,people\nann,31,1,2,3,5\nbob,40,3,1,,2\n"


def test_a_survey_with_other_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_file(tmp_path, SURVEY, "survey.csv")
    assert main(["aggregate", str(file)]) == 2
    assert "--labels names the columns" in capsys.readouterr().err
    command = ["aggregate", str(file), "--labels", "tea", "coffee", "juice"]
    assert main([*command, "--weights", "people"]) == 0
    assert "tea > coffee > juice" in capsys.readouterr().out
    # A subset of the ranked columns has gaps, which are closed.
    assert main(["aggregate", str(file), "--labels", "tea", "juice"]) == 0
    assert "tea > juice" in capsys.readouterr().out
    assert main([*command, "--weights", "name"]) == 2
    assert "column 1 (name): 'ann' is not a finite number; expected a weight" in (
        capsys.readouterr().err
    )
    assert main([*command, "--weights", "juice"]) == 2
    assert "'juice' is both a label and the column of the weights" in capsys.readouterr().err
    assert main([*command[:-1], "beer"]) == 2
    assert "no label 'beer'; it has: " in capsys.readouterr().err
    assert main([*command[:-1], "tea"]) == 2
    assert "--labels names 'tea' twice" in capsys.readouterr().err
    table = write_file(tmp_path, "h,a,b\n1,1,2\n2,2,1\n3,1,2\n", "table.csv")
    assert main(["datasets", str(table), "--labels", "a", "b"]) == 0
    assert "table" in capsys.readouterr().out
    assert main(["datasets", "iris", "--labels", "a", "b"]) == 2
    assert "--labels names columns of CSV files" in capsys.readouterr().err


def test_commands_without_features_read_preflib_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_file(tmp_path, HEADER + "50: 1,{2,3}\n3: 2\n11: {1,3},2\n")
    assert main(["datasets", str(file), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found.pop("missing") == pytest.approx(2 * 3 / 64 / 3)
    assert found == {
        "name": "example",
        "instances": 64,
        "features": 0,
        "labels": 3,
        "unique_rankings": 3,
        "mean_buckets": pytest.approx((2 * 50 + 3 + 2 * 11) / 64),
    }
    assert main(["datasets", str(file), "--labels", "tea", "juice", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["labels"] == 2
    assert main(["leaderboard", str(file), "--resamples", "50", "--format", "json"]) == 0
    board = json.loads(capsys.readouterr().out)["labels"]
    assert [row["label"] for row in board] == ["tea", "juice", "coffee"]
    assert board[0]["wins"] == 2 * 50 + 11
    expected = br.leaderboard(br.read_preflib(file), n_resamples=50, n_jobs=2)
    assert [row["score"] for row in board] == expected.to_pandas()["score"].tolist()
    repeated = np.repeat([[1, 2, 2], [np.nan, 1, np.nan], [1, 2, 1]], [50, 3, 11], axis=0)
    same = br.leaderboard(repeated, n_resamples=50)
    np.testing.assert_allclose(same.scores, expected.scores, atol=1e-9)
    np.testing.assert_array_equal(same.counts.table, expected.counts.table)
    for arguments in (["compare", "--datasets"], ["fit", "--out", str(tmp_path / "m")]):
        assert main([*arguments, str(file)]) == 2
        message = capsys.readouterr().err
        assert "a PrefLib file has rankings but no features" in message
        assert f"bucketrank aggregate {file}" in message


def test_a_table_of_rankings_makes_a_leaderboard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_file(
        tmp_path, "city,tea,coffee,people\nOslo,1,2,30\nRome,2,1,4\nBonn,1,1,6\n", "survey.csv"
    )
    options = ["leaderboard", str(file), "--labels", "tea", "coffee", "--resamples", "50"]
    assert main([*options, "--weight", "people", "--format", "json"]) == 0
    board = json.loads(capsys.readouterr().out)["labels"]
    assert [(row["label"], row["wins"], row["ties"]) for row in board] == [
        ("tea", 30, 6),
        ("coffee", 4, 6),
    ]
    assert main(["leaderboard", str(file)]) == 2
    assert "no column 'model_a'" in (message := capsys.readouterr().err)
    assert "--labels those of a table of rankings" in message
    assert main([*options, "--group", "city"]) == 2
    assert "--group and --order-effect are options of comparisons" in capsys.readouterr().err
