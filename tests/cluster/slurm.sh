#!/usr/bin/env bash
# A real Slurm on one machine: controller and login on host 4, nodes n1 to n3 on the others, each with processes, name and
# network of its own. Every task runs the same command; roles come from Slurm.
#   slurm.sh ADVGP       exit 77: Slurm, munge or namespaces are not there, or not permitted
batch=$(cd "$(dirname "$0")/../../examples" && pwd)/cluster.sbatch
# shellcheck source=lab.sh
source "$(dirname "$0")/lab.sh"
for program in slurmctld slurmd srun sbatch scontrol munged unshare; do
  command -v $program >/dev/null || skip "there is no $program (packages slurmctld, slurmd, slurm-client, munge)"
done
hosts_up 4
unshare --pid --fork --kill-child --mount-proc --uts true 2>why || skip "namespaces of processes are not permitted: $(cat why)"

# ---- the lab
slurm=$scratch/slurm
export SLURM_CONF=$slurm/slurm.conf
mkdir -p "$slurm"/{state,spool,tmp/n1,tmp/n2,tmp/n3}
chmod 755 "$scratch" "$slurm"
(umask 077; head -c 1024 /dev/urandom >"$slurm/munge.key")
{ echo '127.0.0.1 localhost'; for i in 1 2 3; do echo "$(address $i) n$i"; done; echo "$(address 4) ctl"; } >"$slurm/hosts"
echo 'CgroupPlugin=cgroup/v1' >"$slurm/cgroup.conf" # named so that nobody looks for it; not used
cat >"$SLURM_CONF" <<CONF
ClusterName=advgp
SlurmctldHost=ctl($(address 4))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool/%n
TmpFS=$slurm/tmp/%n
SlurmctldPidFile=$slurm/ctl.pid
SlurmdPidFile=$slurm/%n.pid
SlurmctldLogFile=$slurm/ctl.log
SlurmdLogFile=$slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=10
MessageTimeout=10
TCPTimeout=2
KillWait=10
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=2
$(for i in 1 2 3; do echo "NodeName=n$i NodeAddr=$(address $i) NodeHostname=n$i CPUs=8 State=UNKNOWN"; done)
PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
at_end() {
  [[ ! -S $slurm/munge.socket ]] || munged --stop --socket="$slurm/munge.socket" >/dev/null 2>&1
}
# A host's process 1: what it started dies with it.
boot() { # HOST NAME COMMAND...
  on "$1" setsid unshare --pid --fork --kill-child --mount-proc --uts bash -c \
    'mount --bind "$0" /etc/hosts && hostname "$1" && "${@:2}"; exit' "$slurm/hosts" "${@:2}" </dev/null >>"$slurm/boot.log" 2>&1 &
  disown
}
login() { on 4 unshare --uts bash -c 'hostname login; exec "$@"' login "$@"; }
idle() { [[ $(login sinfo -h -N -o %T 2>/dev/null | sort | uniq -c | tr -s ' ') == ' 3 idle' ]]; }
munged --key-file="$slurm/munge.key" --socket="$slurm/munge.socket" --pid-file="$slurm/munge.pid" \
  --log-file="$slurm/munge.log" --seed-file="$slurm/munge.seed" 2>why || skip "munged does not start: $(cat why)"
boot 4 ctl slurmctld -D -f "$SLURM_CONF"
for i in 1 2 3; do boot $i n$i slurmd -D -f "$SLURM_CONF" -N n$i; done
await idle || skip "the nodes do not come up: $(tail -qn 3 "$slurm"/*.log)"
echo "Slurm of three nodes is up after $SECONDS s: $(login srun --version)"

# ---- what is trained
table 6000 1 >rows.csv
table 2000 2 >test.csv
"$advgp" pack rows.csv --target y -q -o rows.packed >/dev/null || exit 1
model=(--test test.csv -m 20 --components 1 --batch 500 --patience inf)
short=("${model[@]}" --epochs 6 --max-delay 0)
long=("${model[@]}" --epochs 30 --delay-worker 0:0.03,1:0.03,2:0.03 --heartbeat 0.5 --lost-after 5 --checkpoint-every 1)
"$advgp" train rows.packed "${short[@]}" --workers 3 -q -o alone --log alone.log >alone.out 2>&1 || { tell "alone: $(cat alone.out)"; end_report 1; }
limited=("${bounded[@]}")

# ---- one command for all tasks
login "${limited[@]}" srun -N 3 -n 4 "$advgp" train rows.packed "${short[@]}" --transport zmq -o zmq --log zmq.log >zmq.out 2>&1 ||
  tell "zmq: exit $?: $(tail -n 5 zmq.out)"
same_bits zmq zmq.log alone.log
says zmq.out '\(encrypted\)' || tell "zmq: not encrypted: $(cat zmq.out)"
passed "srun, zmq: bits $(bits zmq.log)"

login "${limited[@]}" srun -N 3 -n 4 "$advgp" train rows.packed "${short[@]}" --transport mpi -o mpi >flag.out 2>&1 &&
  tell "mpi without the flag was not refused"
says flag.out 'use srun --mpi=pmix' || tell "mpi: the missing flag is not named: $(tail -n 3 flag.out)"
login "${limited[@]}" srun --mpi=pmix -N 3 -n 4 "$advgp" train rows.packed "${short[@]}" --transport mpi -o mpi --log mpi.log >mpi.out 2>&1 ||
  tell "mpi: exit $?: $(tail -n 5 mpi.out)"
same_bits mpi mpi.log alone.log
passed "srun --mpi=pmix, mpi: bits $(bits mpi.log)"

login "${limited[@]}" srun -N 3 -n 4 -W0 -K0 "$advgp" train rows.packed "${short[@]}" --transport zmq -o none --start no-such-model >wrong.out 2>&1
code=$?
(( code != 0 && code != 124 )) || tell "wrong: it was not refused, or hangs: exit $code"
[[ $(grep -c 'the lead has ended: .*no-such-model' wrong.out) == 3 ]] || tell "wrong: not all were told why: $(cat wrong.out)"
passed "a lead that fails at once: all are told"

# ---- a job in the queue: a node dies, one more worker comes
"$advgp" train rows.packed "${long[@]}" --workers 3 --max-delay 200 -q -o quiet --log quiet.log >quiet.out 2>&1 || tell "quiet: $(cat quiet.out)"
steps=$(version quiet.log)
state() { login scontrol show job "$1" 2>/dev/null | sed -nE 's/.*JobState=([A-Z_]+).*/\1/p'; }
is_state() { [[ $(state "$1") == "$2" ]]; } # JOB STATE
submit_to=(--nodes 3 --ntasks 4)
submit() { # NAME OPTIONS...: examples/cluster.sbatch as it is
  ADVGP=$advgp ADVGP_DATA=rows.packed ADVGP_MODEL=$1 ADVGP_OPTIONS="${*:2} --log $1.log" \
    login sbatch --parsable "${submit_to[@]}" --output "$1.out" "$batch"
}

job=$(submit node "${long[@]}" --max-delay 200) || tell "node: sbatch: exit $?"
await at_version node.log $((steps / 4)) || tell "node: no version $((steps / 4)): $(tail -n 5 node.out)"
kill_host 3
login "${limited[@]}" srun --jobid="$job" --overlap -N 1 -n 1 -w n2 "$advgp" train rows.packed "${long[@]}" --transport zmq --max-delay 200 \
  -o late --log late.log >late.out 2>&1 &
late=$!
await_word node.out 'worker 2 \(n3:[0-9]+\) is lost .*its shards go to the others' node
await_word node.out 'worker 3 \(n2:[0-9]+\) has joined' node
await is_state "$job" COMPLETED || tell "node: the job is $(state "$job"), not COMPLETED: $(tail -n 5 node.out)"
await_end $late 0 'the late worker' late.out
says late.out 'a lead lives there already, so this task joins it as a worker' || tell "late: $(cat late.out)"
[[ ! -e late.log && ! -e late ]] || tell 'late: it wrote a model or log of its own'
as_good node node.log quiet.log
passed "a node killed, a late worker: job $(state "$job"), $(tail -n 1 node.out)"

# ---- back to the queue, and on from the checkpoint
boot 3 n3 slurmd -D -f "$SLURM_CONF" -N n3
await idle || tell "n3 does not come back: $(login sinfo -N)"
"$advgp" train rows.packed "${long[@]}" --workers 3 --max-delay 0 -q -o whole --log whole.log >whole.out 2>&1 || tell "whole: $(cat whole.out)"
job=$(submit again "${long[@]}" --max-delay 0) || tell "again: sbatch: exit $?"
await at_version again.log $((steps / 4)) || tell "again: no version $((steps / 4)): $(tail -n 5 again.out)"
login scontrol requeue "$job" || tell 'again: requeue'
await_word again.out 'interrupted: the model so far is in again; go on with --resume again.checkpoint' again
await is_state "$job" PENDING || tell "again: the job is $(state "$job"), not PENDING"
await idle
sleep 2 # a node takes a start in the second of the end for an old one
login scontrol update jobid="$job" StartTime=now # Slurm would wait for two minutes
await is_state "$job" COMPLETED || tell "again: the job is $(state "$job"), not COMPLETED: $(tail -n 5 again.out)"
same_bits again again.log whole.log
passed "requeued: job $(state "$job"), restarted $(login scontrol show job "$job" | grep -o 'Restarts=[0-9]*'), bits $(bits again.log)"

# ---- the lead's node dies, and with it the script: a worker waits for a minute, then puts the job back
submit_to=(--nodes 2 --ntasks 4 --nodelist n2,n3)
headless=$(submit headless "${long[@]}" --max-delay 200 --wait 60) || tell "headless: sbatch: exit $?"
await_word headless.log '"event":"checkpoint"' headless
await at_version headless.log $((steps / 3)) || tell "headless: no version $((steps / 3)): $(tail -n 5 headless.out)"
kill_host 2

# ---- meanwhile, over MPI: a worker is killed
login "${limited[@]}" srun --mpi=pmix --no-kill -K0 -W0 -w n1,n3 -N 2 -n 4 "$advgp" train rows.packed "${long[@]}" --transport mpi --max-delay 200 \
  -o killed --log killed.log >killed.out 2>&1 &
run=$!
await at_version killed.log $((steps / 4)) || tell "killed: no version $((steps / 4)): $(tail -n 5 killed.out)"
for pid in $(ip netns pids "$lab-3"); do # rank 3, alone on its node: where others share it, Slurm's PMIx ends the whole step
  [[ $(tr '\0' ' ' <"/proc/$pid/cmdline") != "$advgp train "*mpi* ]] || kill -KILL "$pid"
done
await_word killed.out 'worker 2 \(n3:[0-9]+\) is lost .*its shards go to the others' killed
await ended $run || tell "killed: srun is not over: $(tail -n 5 killed.out)"
wait $run
code=$? # srun's, of the task that was killed
as_good killed killed.log quiet.log
passed "mpi, a worker killed: srun ends with $code, $(grep 'lost, ' killed.out)"

await is_state "$headless" PENDING || tell "headless: the job is $(state "$headless"), not PENDING: $(tail -n 3 headless.out)"
boot 2 n2 slurmd -D -f "$SLURM_CONF" -N n2
await idle || tell "n2 does not come back: $(login sinfo -N)"
login scontrol update jobid="$headless" StartTime=now
await is_state "$headless" COMPLETED || tell "headless: the job is $(state "$headless"), not COMPLETED: $(tail -n 5 headless.out)"
as_good headless headless.log quiet.log
passed "the lead's node killed: job $(state "$headless"), $(login scontrol show job "$headless" | grep -o 'Restarts=[0-9]*')"
end_report 7
