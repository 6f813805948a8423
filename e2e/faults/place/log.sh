. ./line.sh
witness start
witness end
