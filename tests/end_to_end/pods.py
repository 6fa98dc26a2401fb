"""Run a compiled pipeline as a cluster would: each step alone, from the wheel, in an empty folder of its own."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
_WATCH = Path(__file__).with_name("pod_watch.py")
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/lib", "/lib64", "/opt", "/run", "/var/lib")
_COPIED = (*("pyproject.toml", "README.md", "LICENSE"), *("cli", "components", "driveflow", "filtering", "ingestion"))
_COPIED += ("labeling", "pipelines", "registry", "sample", "training", "validation")


def installed_wheel(folder: Path) -> Path:
    """Build the wheel and install it into an environment of its own; return that environment's interpreter.

    Third-party packages come from the running environment; driveflow's own come from the wheel alone. The wheel is
    built from a copy, because building writes into the folder it builds from.
    """
    source = folder / "source"
    source.mkdir()
    for name in _COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*build, str(source)], check=True, cwd=folder)
    shutil.rmtree(source)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    site = environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    wheel = next(folder.glob("driveflow-*.whl"))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    subprocess.run(pip, check=True)
    shutil.copyfile(_WATCH, site / _WATCH.name)
    (site / "third_party.pth").write_text(f"import {_WATCH.stem}\n{sysconfig.get_paths()['purelib']}\n")
    return environment / "bin" / "python3"


@dataclass
class Cluster:
    """Runs the tasks of compiled pipelines, each in a fresh folder; `secrets` are what Kubernetes would inject."""

    python: Path
    folder: Path
    run_id: str
    secrets: dict[str, str]
    twice: frozenset[str] = frozenset()  # tasks that are run again after they succeeded, as after a lost answer
    executed: list[str] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    outside: set[str] = field(default_factory=set)  # what steps touched that no pod would have

    def run(self, package: str, parameters: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Run the pipeline and return each task's output parameters."""
        documents = list(yaml.safe_load_all(package))
        spec, platform = documents[0], documents[1] if len(documents) > 1 else {}
        defaults = {
            name: item.get("defaultValue") for name, item in spec["root"]["inputDefinitions"]["parameters"].items()
        }
        outputs: dict[str, dict[str, Any]] = {}
        self._run_dag(_Graph(spec, platform), spec["root"]["dag"], {**defaults, **parameters}, outputs)
        return outputs

    def _run_dag(self, graph: "_Graph", dag: dict, inputs: dict[str, Any], outputs: dict[str, dict]) -> None:
        waiting = dict(dag["tasks"])
        while waiting:
            name = next(n for n, task in waiting.items() if not set(task.get("dependentTasks", ())) & set(waiting))
            task = waiting.pop(name)
            values = {key: _value(item, inputs, outputs) for key, item in task["inputs"]["parameters"].items()}
            component = graph.spec["components"][task["componentRef"]["name"]]
            if "dag" in component:
                if _holds(task.get("triggerPolicy", {}).get("condition", ""), values):
                    self._run_dag(graph, component["dag"], values, outputs)
            else:
                outputs[name] = self._run_task(graph, component, name, values)
                self.executed.append(name)
                if name in self.twice:
                    again = self._run_task(graph, component, name, values)
                    assert again == outputs[name], f"{name} run twice gave something else"

    def _run_task(self, graph: "_Graph", component: dict, name: str, values: dict[str, Any]) -> dict[str, Any]:
        pod = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
        self.folders.append(pod)
        container = graph.spec["deploymentSpec"]["executors"][component["executorLabel"]]["container"]
        executor_input = _executor_input(component, values, pod, self.run_id)
        args = [json.dumps(executor_input) if arg == "{{$}}" else arg for arg in container["args"]]
        done = subprocess.run(
            [*container["command"], *args],
            cwd=pod,
            env=self._environment(graph, component["executorLabel"], container, pod),
            capture_output=True,
            text=True,
            check=False,
        )
        self.outside |= {path for path in _touched(pod) if not self._may_see(Path(path), pod)}
        assert done.returncode == 0, f"{name} failed:\n{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
        written = json.loads((pod / "executor_output.json").read_text())
        return dict(written.get("parameterValues", {}))

    def _environment(self, graph: "_Graph", label: str, container: dict, pod: Path) -> dict[str, str]:
        path = f"{self.python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
        env = {"PATH": path, "HOME": str(pod), "TMPDIR": str(pod), "LANG": "C.UTF-8", "POD_WATCH_LOG": str(_log(pod))}
        env |= {item["name"]: item["value"] for item in container.get("env", ())}
        env["DRIVEFLOW_PLACE"] = env["DRIVEFLOW_PLACE"].replace("/tmp/driveflow", str(pod / "scratch"))
        for secret in graph.secrets(label):
            for pair in secret["keyToEnv"]:
                env[pair["envVar"]] = self.secrets[pair["secretKey"]]
        return env

    def _may_see(self, path: Path, pod: Path) -> bool:
        """Tell whether a pod would have `path`: its own folder, the image with its packages, the system."""
        image = (self.python.parents[1], Path(sys.base_prefix), Path(sysconfig.get_paths()["purelib"]))
        return any(path.is_relative_to(home) for home in (pod, *image, *_SYSTEM))


@dataclass(frozen=True)
class _Graph:
    spec: dict
    platform: dict

    def secrets(self, label: str) -> list[dict]:
        kubernetes = self.platform.get("platforms", {}).get("kubernetes", {})
        return kubernetes.get("deploymentSpec", {}).get("executors", {}).get(label, {}).get("secretAsEnv", [])


def _log(pod: Path) -> Path:
    return pod.with_name(f"{pod.name}.touched")


def _touched(pod: Path) -> set[str]:
    return set(_log(pod).read_text("utf-8", "surrogateescape").splitlines())


def _value(item: dict, inputs: dict[str, Any], outputs: dict[str, dict]) -> Any:
    if "componentInputParameter" in item:
        return inputs[item["componentInputParameter"]]
    if "taskOutputParameter" in item:
        source = item["taskOutputParameter"]
        return outputs[source["producerTask"]][source["outputParameterKey"]]
    return item["runtimeValue"]["constant"]


def _holds(condition: str, values: dict[str, Any]) -> bool:
    if not condition:
        return True
    name = condition.partition("['")[2].partition("']")[0]
    assert condition == f"inputs.parameter_values['{name}'] == true"
    return bool(values[name])


def _executor_input(component: dict, values: dict[str, Any], pod: Path, run_id: str) -> dict:
    definitions = component.get("outputDefinitions", {})
    filled = {key: run_id if value == "{{$.pipeline_job_uuid}}" else value for key, value in values.items()}
    artifacts = {
        key: {
            "artifacts": [
                {
                    "name": key,
                    "uri": str(pod / "artifacts" / key),
                    "type": item["artifactType"],
                    "metadata": {},
                }
            ]
        }
        for key, item in definitions.get("artifacts", {}).items()
    }
    parameters = {key: {"outputFile": str(pod / "parameters" / key)} for key in definitions.get("parameters", {})}
    (pod / "artifacts").mkdir()
    return {
        "inputs": {"parameterValues": filled},
        "outputs": {
            "artifacts": artifacts,
            "parameters": parameters,
            "outputFile": str(pod / "executor_output.json"),
        },
    }
