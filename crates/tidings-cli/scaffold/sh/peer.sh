#!/bin/sh
# @ID@ as a peer of the tidings arena, in the POSIX shell. The protocol is in arena/PROTOCOL.md, the workloads in
# arena/WORKLOADS.md. It shows that a peer needs no library; use it where your language has no scaffold yet.
# Beyond POSIX it needs a `date` that knows nanoseconds (GNU).

# counter/send: P producer processes write additions into one pipe, a counter process reads and adds them.
produce() {
    sent=0
    while [ "$sent" -lt "$n" ]; do
        echo 100
        sent=$((sent + 1))
    done
}

count() {
    received=0 total=0
    while read -r message; do
        if [ "$message" = get ]; then
            echo "$received $total"
            return
        fi
        received=$((received + 1)) total=$((total + message))
    done
}

once() {
    {
        started=0
        while [ "$started" -lt "$P" ]; do
            produce &
            started=$((started + 1))
        done
        wait
        echo get
    } | count
}

now() {
    date +%s%N
}

system=@ID@ previous=
for argument; do
    if [ "$previous" = --system ]; then system=$argument; fi
    previous=$argument
done
# The smallest step of a few: on a busy machine some take longer.
step= tries=0
while [ "$tries" -lt 5 ]; do
    before=$(now)
    passed=$(($(now) - before))
    if [ -z "$step" ] || [ "$passed" -lt "$step" ]; then step=$passed; fi
    tries=$((tries + 1))
done
printf '{"arena":1,"t":"hello","system":"%s","peer":"@ID@","version":"POSIX","runtime":"sh","flags":"",' "$system"
printf '"threads":1,"pid":%s,"clock_ns":%s,"caps":[],"cells":["counter/send"]}\n' "$$" "$step"

refuse() {
    printf '{"arena":1,"t":"err","id":%s,"kind":"unsupported","msg":"%s"}\n' "$id" "$1"
}

prepared=
while read -r command rest; do
    id=0 inner=1 cell=
    for word in $rest; do
        value=${word#*=}
        case $word in
        id=*) id=$value ;;
        inner=*) inner=$value ;;
        cell=*) cell=$value ;;
        P=*) P=$value ;;
        n=*) n=$value ;;
        esac
    done
    case $command in
    prep)
        prepared=
        if [ "$cell" = counter/send ]; then
            prepared=yes
            printf '{"arena":1,"t":"ok","id":%s}\n' "$id"
        else
            refuse "no such cell"
        fi
        ;;
    run)
        if [ -z "$prepared" ]; then
            refuse "run without prep"
            continue
        fi
        messages=0 units=0 check=0 done=0
        begin=$(now)
        while [ "$done" -lt "$inner" ]; do
            result=$(once)
            messages=$((messages + ${result% *})) check=$((check + ${result#* }))
            units=$((units + P + 1)) done=$((done + 1))
        done
        ns=$(($(now) - begin))
        printf '{"arena":1,"t":"sample","id":%s,"ns":%s,"inner":%s,"msgs":%s,"units":%s,"check":%s}\n' \
            "$id" "$ns" "$inner" "$messages" "$units" "$check"
        ;;
    drop)
        prepared=
        printf '{"arena":1,"t":"ok","id":%s}\n' "$id"
        ;;
    ping) printf '{"arena":1,"t":"ok","id":%s}\n' "$id" ;;
    quit) exit 0 ;;
    *) refuse "no such command" ;;
    esac
done
