"""The ledger's chapter of runs and their steps."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select, update

from driveflow.canonical import Json
from driveflow.errors import NotFoundError
from driveflow.ledger.database import Database, fetch, first, upsert
from driveflow.ledger.rows import RunRow, State, StepRow
from driveflow.ledger.tables import RUNS, STEPS

_STEP_RESULT = ("state", "reused", "seconds", "counts", "metrics", "outputs", "detail", "error_kind", "error")


class RunChapter:
    """Runs and steps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin_run(self, run: RunRow) -> None:
        """Note that `run` goes on; a run that is begun again, after a kill say, keeps its first start."""
        with self._database.writing() as connection:
            upsert(
                connection,
                RUNS,
                run,
                ("state", "finished_at", "params", "detail"),
                started_at=run.started_at or self._database.now(),
            )

    def finish_run(self, run_id: str, state: State, detail: Mapping[str, Json] | None = None) -> None:
        """Note how the run ended; `detail` is added to what is known of it.

        Raises:
            NotFoundError: there is no such run.
        """
        with self._database.writing(f"run {run_id}") as connection:
            known = first(connection, RunRow, select(RUNS).where(RUNS.c.run_id == run_id))
            if known is None:
                raise _no_run(run_id)
            connection.execute(
                update(RUNS)
                .where(RUNS.c.run_id == run_id)
                .values(state=state, finished_at=self._database.now(), detail={**known.detail, **(detail or {})})
            )

    def run(self, run_id: str) -> RunRow:
        """Return a run.

        Raises:
            NotFoundError: there is no such run.
        """
        with self._database.reading() as connection:
            found = first(connection, RunRow, select(RUNS).where(RUNS.c.run_id == run_id))
        if found is None:
            raise _no_run(run_id)
        return found

    def runs(self, limit: int = 50, flow: str = "") -> list[RunRow]:
        """Return the newest runs, newest first; of one `flow` where it is named."""
        query = select(RUNS).order_by(RUNS.c.started_at.desc(), RUNS.c.run_id.desc()).limit(limit)
        with self._database.reading() as connection:
            return fetch(connection, RunRow, query.where(RUNS.c.flow == flow) if flow else query)

    def begin_step(self, run_id: str, step: str) -> None:
        """Note that a step goes on; what an earlier attempt left is forgotten.

        Raises:
            NotFoundError: there is no such run.
        """
        self._put_step(run_id, step, StepRow(state="RUNNING"), ("started_at", *_STEP_RESULT))

    def finish_step(self, run_id: str, step: str, row: StepRow) -> None:
        """Note how a step ended.

        Raises:
            NotFoundError: there is no such run.
        """
        self._put_step(run_id, step, row, ("started_at", *_STEP_RESULT) if row.started_at else _STEP_RESULT)

    def _put_step(self, run_id: str, step: str, row: StepRow, columns: Sequence[str]) -> None:
        with self._database.writing() as connection:
            if connection.execute(select(RUNS.c.run_id).where(RUNS.c.run_id == run_id)).first() is None:
                raise _no_run(run_id)
            started_at = row.started_at or self._database.now()
            upsert(connection, STEPS, row, columns, run_id=run_id, step=step, started_at=started_at)

    def steps(self, run_id: str) -> list[StepRow]:
        """Return the steps of a run in the order they began."""
        query = select(STEPS).where(STEPS.c.run_id == run_id).order_by(STEPS.c.started_at, STEPS.c.step)
        with self._database.reading() as connection:
            return fetch(connection, StepRow, query)

    def latest_step(self, flow: str, pipelines: Sequence[str], step: str) -> StepRow | None:
        """Return `step` of the newest run of `flow`, of any of `pipelines`, in which both run and step SUCCEEDED."""
        query = (
            select(STEPS)
            .join(RUNS, RUNS.c.run_id == STEPS.c.run_id)
            .where(RUNS.c.flow == flow, RUNS.c.pipeline.in_(pipelines), RUNS.c.state == "SUCCEEDED")
            .where(STEPS.c.step == step, STEPS.c.state == "SUCCEEDED")
            .order_by(RUNS.c.finished_at.desc(), RUNS.c.run_id.desc())
        )
        with self._database.reading() as connection:
            return first(connection, StepRow, query)

    def latest_step_output(self, flow: str, pipelines: Sequence[str], step: str, output: str) -> Json:
        """Return one output of `latest_step`, None where there is no such step or output."""
        found = self.latest_step(flow, pipelines, step)
        return None if found is None else found.outputs.get(output)


def _no_run(run_id: str) -> NotFoundError:
    return NotFoundError(f"The ledger knows no run {run_id!r}; `driveflow runs list` shows those it knows")
