#!/usr/bin/env bash
# npm run test:tarball [-- --node VERSION]: makes the tarball, unpacks it where nobody may write, and scores samples with
# simulated judges as a user who is not root, in a network namespace that has only loopback.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
tarball=$(bash docker/tarball.sh "$@" "$work")
tar -xzf "$tarball" -C "$work"
program=$(ls -d "$work"/reward-gateway-*/)bin/reward-gateway
# The sample and its judge are those of `serve --simulate`.
cat >"$work/score.mjs" <<'JS'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'

const fail = (why) => {
  console.error(why)
  process.exit(1)
}
if (process.getuid() === 0) fail('it runs as root')
const links = Object.keys(networkInterfaces())
if (links.some((name) => name !== 'lo')) fail(`there is a network: ${links}`)
const args = ['serve', '--simulate', '--config', process.argv[3], '--port', '0', '--log-level', 'warn']
const child = spawn(process.argv[2], args, { stdio: ['ignore', 'pipe', 'inherit'] })
const [said] = await once(child.stdout.setEncoding('utf8'), 'data')
const url = / at (http:\S+) /.exec(said)?.[1] ?? fail(said)
const samples = [41, 42].map((n) => ({ prompt: 'What is 6 * 7?', response: `6 * 7 = ${n}, so\n#### ${n}`, ground_truth: '42' }))
const answer = await fetch(`${url}/v1/score`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ reward: 'demo', samples }),
})
const { results } = await answer.json()
console.log(JSON.stringify(results.map(({ reward, terms }) => ({ reward, terms: Object.keys(terms) }))))
if (!results.every(({ valid }) => valid) || !(results[1].reward > results[0].reward)) fail(JSON.stringify(results))
child.kill('SIGTERM')
const [code] = await once(child, 'exit')
if (code !== 0) fail(`it ended with ${code}`)
JS
chmod -R a-w,a+rX "$work"
folder=$(dirname "$program")/..
node=$(command -v node)
[ -x "$folder/node/bin/node" ] && node=$folder/node/bin/node
score=("$node" "$work/score.mjs" "$program" "$folder/rm-configs/demo.yaml")
clean=(env -i HOME=/nonexistent "PATH=$(dirname "$(readlink -f "$node")"):/usr/bin:/bin")
if [ "$(id -u)" = 0 ]; then
  unshare -n sh -c "ip link set lo up; exec \"\$@\"" sh setpriv --reuid 65534 --regid 65534 --clear-groups "${clean[@]}" "${score[@]}"
else
  # A user of its own namespace may bring loopback up as its root, and is itself again after that.
  unshare -rn sh -c "ip link set lo up; exec \"\$@\"" sh unshare -U --map-user="$(id -u)" "${clean[@]}" "${score[@]}"
fi
echo "$(du -h "$tarball" | cut -f1) $(basename "$tarball"): scored without root, without network, in a folder that nobody may write"
