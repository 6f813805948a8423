. ./line.sh
trap '' TERM
witness start
(trap '' TERM; sleep 600; sleep 600) &
while :; do sleep 600; done
