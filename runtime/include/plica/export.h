#pragma once

// Marks what the shared library exports; every other symbol is hidden.
#define PLICA_API [[gnu::visibility("default")]]
