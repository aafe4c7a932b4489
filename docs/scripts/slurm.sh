#!/bin/bash
# Runs a command of Even Ruler on the nodes of a SLURM allocation, by Ray:
#   sbatch --nodes=4 --gpus-per-node=4 docs/scripts/slurm.sh evenruler repro
#   sbatch --nodes=2 --gpus-per-node=1 docs/scripts/slurm.sh evenruler measure hub:ORG/NAME@COMMIT --with NAME
# From the root of a clone, or any folder with the command on the PATH, on a file system that all nodes share. A job
# that is killed or runs out of time goes on where it was when it is submitted again: answers are kept.
#SBATCH --job-name=evenruler
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --requeue
#SBATCH --output=evenruler-%j.log
set -euo pipefail

nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
cpus=${SLURM_CPUS_ON_NODE:-1}
port=${RAY_PORT:-6379}
on() { srun --overlap --nodes=1 --ntasks=1 --nodelist="$1" "${@:2}"; }
# As other nodes reach it: on many systems a node's name means its loopback address to itself.
ip=$(on "${nodes[0]}" bash -c 'hostname --ip-address; hostname --all-ip-addresses' | tr ' ' '\n' \
    | grep --extended-regexp --invert-match '^127\.|:|^$' | head --lines=1)
export RAY_ADDRESS="$ip:$port" RAY_USAGE_STATS_ENABLED=0
# Without a token whoever reaches the port runs code as this user.
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN=${RAY_AUTH_TOKEN:-$(head --bytes=32 /dev/urandom | sha256sum | cut -c-64)}

stop() { scancel --signal=KILL "$SLURM_JOB_ID" 2>/dev/null || true; }  # of the steps alone; else they linger
trap stop EXIT

on "${nodes[0]}" env -u RAY_ADDRESS ray start --head --node-ip-address="$ip" --port="$port" --num-cpus="$cpus" \
    --include-dashboard=false --block &
for node in "${nodes[@]:1}"; do
    on "$node" ray start --address="$RAY_ADDRESS" --num-cpus="$cpus" --block &
done
# Nodes that join later get their work when they do.
for _ in $(seq 60); do ray status > /dev/null 2>&1 && break; sleep 2; done

export EVENRULER_ENGINE=${EVENRULER_ENGINE:-ray}
"$@"
