#!/bin/sh
# Prints the first Python that is new enough and built with optimisation; else the first that is new enough, one without
# pip's bootstrap last; nothing when there is none. Run in the root of the clone.
slow=
bare=
for python in python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
  "$python" -I gateway/mnemesh_gateway/doctor/interpreter.py 2>/dev/null
  case $? in
    0) echo "$python"; exit ;;
    10) slow=${slow:-$python} ;;
    11) bare=${bare:-$python} ;;
  esac
done
echo "${slow:-$bare}"
