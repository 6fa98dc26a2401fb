from dataclasses import replace
from pathlib import Path

import pytest

from driveflow.errors import NotFoundError, UsageError
from driveflow.flow.load import load_flow_text
from driveflow.flow.profile import (
    KfpSection,
    Profile,
    S3Section,
    StepSize,
    check_profile,
    load_profile,
    place_of,
    resolve_batch_uri,
)
from driveflow.flow.sections import BatchSection
from driveflow.place import place_from_text

FLOW = load_flow_text("name: a\nclasses: [car]\nbatches: [x]\n", "flow.yaml")
GOOD = Profile(
    profile="kfp",
    data_root="s3://recordings/root",
    store="s3://driveflow/store",
    ledger="env:LEDGER_URL_OF_TEST",
    image="registry.example.com/driveflow-python",
    secret_name="driveflow",
    secrets=("LEDGER_URL_OF_TEST",),
)


def refused(**changes) -> str:
    with pytest.raises(UsageError) as caught:
        check_profile(FLOW, replace(GOOD, **changes))
    return str(caught.value)


def write(folder: Path, name: str, text: str) -> None:
    (folder / "profiles").mkdir(exist_ok=True)
    (folder / "profiles" / f"{name}.yaml").write_text(text)


def test_a_complete_cluster_profile_passes():
    check_profile(FLOW, GOOD)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ledger": ""}, "the ledger in the workspace: SQLite is one file that two pods cannot share; ledger: env:"),
        ({"ledger": "sqlite:////data/x.db"}, "the ledger sqlite:////data/x.db: SQLite"),
        ({"ledger": "mysql://h/db"}, "the ledger mysql: only PostgreSQL"),
        ({"ledger": "postgresql://me:geheim@h/db"}, "its password in plain text"),
        ({"ledger": "postgresql+psycopg://h/db?user=u&password=geheim"}, "its password in plain text"),
        ({"secrets": ()}, "env:LEDGER_URL_OF_TEST: no step gets that variable"),
        ({"store": ""}, "store in the workspace: a local folder that no two pods share; store: s3://"),
        ({"store": "file:///srv"}, "store file:///srv: a local folder"),
        ({"data_root": "file:///srv"}, "data_root file:///srv: a local folder"),
        ({"image": ""}, "a profile without image"),
        ({"image": "r/x:latest"}, "the image r/x:latest: KFP would reuse results of older code"),
        ({"kfp": KfpSection(token="geheim")}, "kfp.token in plain text"),
        ({"kfp": KfpSection(host="https://me:geheim@kfp")}, "a user or password inside kfp.host"),
        ({"s3": S3Section(endpoint="https://me:geheim@s3")}, "a user or password inside s3.endpoint"),
    ],
)
def test_a_cluster_profile_refuses_by_name_and_never_repeats_a_secret(changes, says):
    message = refused(**changes)

    assert message.startswith("The kfp profile refuses ")
    assert says in message
    assert "\n" not in message
    assert "geheim" not in message


def test_a_ledger_variable_that_holds_sqlite_is_seen(monkeypatch):
    monkeypatch.setenv("LEDGER_URL_OF_TEST", "sqlite:///x.db")

    assert "its value now is SQLite" in refused()


@pytest.mark.parametrize("path", ["/data/x", "~/x", "file:///data/x"])
def test_a_cluster_profile_refuses_a_batch_on_this_machine(path):
    flow = replace(FLOW, batches=(BatchSection(name="b", path=path),))

    with pytest.raises(UsageError, match=f"the path {path} of batch b"):
        check_profile(flow, GOOD)


def test_a_cluster_profile_refuses_several_nodes_until_there_is_a_launcher():
    flow = replace(FLOW, training=replace(FLOW.training, nodes=2))

    with pytest.raises(UsageError, match=r"training\.nodes 2: several nodes need the cluster launcher"):
        check_profile(flow, GOOD)
    check_profile(flow, Profile(profile="local"))


def test_all_refusals_come_at_once():
    message = refused(store="", image="", ledger="")

    assert message.splitlines()[0] == "The kfp profile refuses 3 settings:"
    assert len(message.splitlines()) == 4


def test_a_local_profile_refuses_a_password_too():
    with pytest.raises(UsageError, match="password in plain text"):
        check_profile(FLOW, Profile(profile="local", ledger="postgresql://me:x@h/db"))


def test_without_a_file_the_local_profile_keeps_everything_in_the_workspace(tmp_path):
    profile = load_profile("", tmp_path)

    place = place_of(profile, tmp_path / "my work")

    assert profile.data_root == tmp_path.as_uri()
    assert place.store == (tmp_path / "my work" / "store").as_uri()
    assert place.ledger == f"sqlite:///{tmp_path}/my work/ledger.db"
    assert place.scratch == f"{tmp_path}/my work/scratch"


def test_a_profile_is_found_by_name_beside_the_flow_or_by_path(tmp_path):
    write(tmp_path, "team", "profile: local\ndata_root: recordings\n")

    by_name = load_profile("team", tmp_path)

    assert by_name.data_root == (tmp_path / "recordings").as_uri()
    assert load_profile(str(tmp_path / "profiles" / "team.yaml"), tmp_path) == by_name


def test_an_unknown_profile_names_those_there_are(tmp_path):
    write(tmp_path, "team", "profile: local\n")

    with pytest.raises(
        NotFoundError, match=r"No profile is called 'kfp' in .*profiles\. Known: team\. `driveflow init --profiles "
    ):
        load_profile("kfp", tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("profile: kpf", "kfp.yaml:1: profile: must be local or kfp, got 'kpf', did you mean kfp?"),
        ("store: s3://b/k", "kfp.yaml:1: profile: missing; for example profile: local"),
        ("profile: kfp\nimgae: x", 'kfp.yaml:2: imgae: unknown key "imgae", did you mean "image"?'),
        ("profile: kfp\nsecrets: [KEY=geheim]", "kfp.yaml:2: secrets[0]: must be the name of an environment variable"),
        ("profile: kfp\nmemory: 4 GB", "kfp.yaml:2: memory: must be a Kubernetes quantity such as 2, 500m or 4Gi"),
        ("profile: kfp\nactive_deadline_s: 5", "kfp.yaml:2: active_deadline_s: must be 60 or more, got 5"),
    ],
)
def test_a_mistake_in_a_profile_is_named_with_its_line(tmp_path, text, says):
    write(tmp_path, "kfp", text)

    with pytest.raises(UsageError) as caught:
        load_profile("kfp", tmp_path)
    assert says in str(caught.value)


def test_the_steps_get_the_place_and_no_secret(monkeypatch):
    monkeypatch.setenv("LEDGER_URL_OF_TEST", "postgresql://me:geheim@h/db")
    profile = replace(GOOD, s3=S3Section(endpoint="http://s3:9000", region="eu-1"))

    variables = profile.environment()

    assert place_from_text(variables["DRIVEFLOW_PLACE"]).ledger == "env:LEDGER_URL_OF_TEST"
    assert (variables["AWS_ENDPOINT_URL"], variables["AWS_REGION"]) == ("http://s3:9000", "eu-1")
    assert "geheim" not in str(variables)


@pytest.mark.parametrize("image", ["r:5000/x:1.2", "x@sha256:00"])
def test_an_image_that_is_pinned_is_left_alone(image):
    assert replace(GOOD, image=image).image_with_code() == image


def test_an_image_without_a_tag_is_tagged_by_its_code():
    tagged = replace(GOOD, image="r:5000/x").image_with_code()

    assert tagged.startswith("r:5000/x:")
    assert len(tagged.rpartition("-")[2]) == 12


def test_a_step_may_have_a_size_of_its_own():
    profile = replace(GOOD, steps={"train_model": StepSize(cpu="4", memory="16Gi")})

    assert profile.size_of("train_model").cpu == "4"
    assert profile.size_of("plan_run") == StepSize(cpu="1", memory="4Gi")


@pytest.mark.parametrize(
    ("path", "root", "uri"),
    [
        ("data/a b", "", "file:///flows/data/a%20b"),
        ("data/../c", "", "file:///flows/c"),
        ("data", "file:///r%20s", "file:///r%20s/data"),
        ("./data//x/", "s3://bucket/root", "s3://bucket/root/data/x"),
        ("s3://other/x", "s3://bucket/root", "s3://other/x"),
        ("/abs", "s3://bucket/root", "file:///abs"),
        ("file:///abs/", "", "file:///abs"),
    ],
)
def test_a_batch_lies_where_it_says_or_below_the_data_root(path, root, uri):
    profile = Profile(profile="local", data_root=root)

    assert resolve_batch_uri(BatchSection(name="b", path=path), profile, Path("/flows")) == uri
