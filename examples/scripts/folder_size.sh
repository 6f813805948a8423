#!/bin/sh
# A task written as a shell script: each parameter is also a REAX_PARAM_ variable.
set -eu

folder=$REAX_PARAM_FOLDER
if [ ! -d "$folder" ]; then
    echo "there is no folder $folder" >&2
    exit 2
fi
echo "measuring $folder"
kilobytes=$(du -sk -- "$folder" | cut -f1)
echo "::result {\"kilobytes\": $kilobytes}"
