import json

import pytest

from cli.main import main


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


def test_init_then_check_is_good(tmp_path, capsys):
    assert call("init", tmp_path / "roads") == 0
    assert f"Next: driveflow check {tmp_path}/roads/flow.yaml" in capsys.readouterr().out
    assert call("check", tmp_path / "roads" / "flow.yaml") == 0
    out = capsys.readouterr().out
    assert 'cron: "0 2 * * 1"' in out
    assert f"batch_a: {tmp_path.as_uri()}/roads/data/batch_a" in out


def test_init_twice_fails_and_says_how(tmp_path, capsys):
    call("init", tmp_path)

    assert call("init", tmp_path) == 1
    assert "would be overwritten; --force does it" in capsys.readouterr().err
    assert call("init", tmp_path, "--force") == 0


def test_profiles_of_a_flow_that_is_there_are_written_alone(tmp_path, capsys):
    call("init", tmp_path)
    (tmp_path / "profiles" / "kfp.yaml").unlink()
    capsys.readouterr()

    assert call("compile", tmp_path / "flow.yaml") == 3
    assert f"`driveflow init --profiles {tmp_path}`" in capsys.readouterr().err
    assert call("init", "--profiles", tmp_path) == 0
    assert capsys.readouterr().out == f"Wrote {tmp_path}/profiles/kfp.yaml.\n"
    assert call("init", "--profiles", tmp_path) == 0
    assert call("init", "--profiles", "--force", tmp_path) == 2


def test_check_says_which_local_batches_are_not_there(tmp_path, capsys):
    flow = tmp_path / "flow.yaml"
    flow.write_text("name: a\nclasses: [car]\nbatches: [there, gone]\n")
    (tmp_path / "there").mkdir()

    assert call("check", flow) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"# {flow} is good, but 1 of 2 batches cannot be found: gone."
    assert lines[-1] == f"#   gone: {(tmp_path / 'gone').as_uri()} (not there)"
    assert call("check", flow, "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["not_there"] == ["gone"]


def test_check_as_json_has_the_plan_and_where_batches_are(tmp_path, capsys):
    call("init", tmp_path)
    capsys.readouterr()

    assert call("check", tmp_path / "flow.yaml", "--profile", "kfp", "-o", "json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["flow"]["holdout"]["fraction"] == 0.2
    assert plan["batches"] == {"batch_a": "s3://recordings/data/batch_a"}
    assert "holdout.fraction" in plan["defaults"]


def test_a_typo_is_one_line_and_exit_2(tmp_path, capsys):
    flow = tmp_path / "flow.yaml"
    flow.write_text("name: a\nclasses: [car]\nbacthes: [x]\nbatches: [y]\n")

    assert call("check", flow) == 2
    assert capsys.readouterr().err == f'driveflow: {flow}:3: bacthes: unknown key "bacthes", did you mean "batches"?\n'


def test_a_missing_flow_is_one_line_and_exit_3(tmp_path, capsys):
    assert call("check", tmp_path / "flow.yaml") == 3
    assert capsys.readouterr().err == f"driveflow: There is no file '{tmp_path}/flow.yaml'.\n"


def test_a_data_root_that_is_not_there_ends_before_a_run_begins(tmp_path, capsys):
    call("init", tmp_path)
    capsys.readouterr()

    code = call("run", tmp_path / "flow.yaml", "-w", tmp_path / "workspace", "--set", f"data_root={tmp_path}/gone")

    assert code == 3
    assert capsys.readouterr().err == f"driveflow: There is no folder {tmp_path}/gone, which --set data_root names.\n"
    assert not (tmp_path / "workspace").exists()


@pytest.mark.parametrize(
    "words", [("init",), ("sample", "render"), ("compile", "flow.yaml", "--profile", "local", "-o")]
)
@pytest.mark.parametrize("address", ["file:///tmp/x", "s3://bucket/x"])
def test_nothing_is_written_into_a_folder_called_as_an_address(tmp_path, monkeypatch, capsys, words, address):
    call("init", tmp_path)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()

    assert call(*words, address) == 2
    assert "is an address; a path on this machine would do" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
