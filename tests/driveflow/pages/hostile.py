"""Class names that try to leave their place in a page."""

HOSTILE_NAMES = (
    "<script>window.stolen=1</script>",
    '" onmouseover="window.stolen=1" x=\'',
    "x" * 200,
    "شاحنة\u202e gnp.exe",
    "🚲👩‍🦽🏳️‍🌈",
    "<img src=x onerror=window.stolen=1>",
    "</title></style></svg><svg onload=window.stolen=1>",
    "]]>&lt;b&gt;&#0;\x00\x1b[31m",
    "\ud800 lone surrogate",
)
STORABLE_NAMES = HOSTILE_NAMES[:-1]  # a table holds no lone surrogate
