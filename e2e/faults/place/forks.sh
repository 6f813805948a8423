. ./line.sh
trap '' HUP
sleep 600 </dev/null >/dev/null 2>&1 &
(sleep 600 & wait) &
witness start
sleep 0.3
witness end
