"""How a step is declared to KFP."""

import functools

from kfp import dsl

RUNTIME_IMAGE = "driveflow-python"
"""A name that compiling replaces by the profile's image; the local runner only wants the word in it."""

step = functools.partial(dsl.component, base_image=RUNTIME_IMAGE, packages_to_install=[], install_kfp_package=False)
