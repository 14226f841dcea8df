#!/bin/sh
# Runs a command that decodes with Tracewright in place of OpenCSD: with-tracewright perf script
LD_LIBRARY_PATH=/usr/@LIB@/tracewright${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$@"
