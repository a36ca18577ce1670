#!/usr/bin/env bash
# Packs the package, looks at what is in it, installs it into an empty folder, without the packages that only some commands need, and uses it as
# somebody would who has nothing else: check, score, the demo, the library with its types, and a server that is asked once.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
gateway=
finish() {
  [ -z "$gateway" ] || kill "$gateway" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
failed() {
  echo "FAILED: $*"
  exit 1
}

cd "$root"
npm pack --silent --pack-destination "$work" >/dev/null
tarball=$(echo "$work"/reward-gateway-*.tgz)
tar -tzf "$tarball" | sort >"$work/files"
echo "$(wc -l <"$work/files") files, $(du -k "$tarball" | cut -f1) kB"
! grep -v '^package/starter/' "$work/files" | grep -E '\.map$|/test/|tsbuildinfo|\.tsx$|\.test\.|__pycache__|\.log$|node_modules' || failed 'these do not belong into the package'
for file in LICENSE README.md CHANGELOG.md dist/ui/index.html dist/ui/THIRD_PARTY.md docs/configuration.md rm-configs/gateway.yaml starter/configs/manners.yaml; do
  grep -qx "package/$file" "$work/files" || failed "the package lacks $file"
done

# The pages lead nowhere but to files of the package, or to those that only a clone has.
mkdir "$work/unpacked"
tar -xzf "$tarball" -C "$work/unpacked"
(cd "$work/unpacked/package" && node -e "
  const { existsSync, readdirSync, readFileSync } = require('fs')
  const { dirname, join } = require('path')
  for (const page of readdirSync('.', { recursive: true }))
    if (page.endsWith('.md') && !page.startsWith('dist/') && !page.startsWith('starter/'))
      for (const [, link] of readFileSync(page, 'utf8').matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g))
        if (!existsSync(join(dirname(page), link)) && !/^(docker|test)\b/.test(join(dirname(page), link)))
          console.log(page + ': ' + link)
") >"$work/lost"
[ ! -s "$work/lost" ] || failed "links that lead nowhere in the package: $(cat "$work/lost")"

# Every package whose code is in the page's bundle, with its licence.
tar -xOzf "$tarball" package/dist/ui/THIRD_PARTY.md >"$work/licences"
bundled=$(grep -rhoE "from '[^.'][^']*'" src/serving/ui --include='*.ts' --include='*.tsx' --exclude=vite.config.ts |
  sed -E "s/from '((@[^/']+\/)?[^/']+).*/\1/" | sort -u)
[ -n "$bundled" ] || failed 'no import was found in src/serving/ui'
for name in $bundled; do
  grep -q "^## $name - " "$work/licences" || failed "THIRD_PARTY.md does not name $name"
done
grep -q 'Permission is hereby granted' "$work/licences" || failed 'THIRD_PARTY.md has no licence text'

mkdir "$work/empty"
cd "$work/empty"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund "$tarball"
[ "$(du -sm node_modules | cut -f1)" -lt 100 ] || failed "the default install takes $(du -sm node_modules | cut -f1) MB"
run=node_modules/.bin/reward-gateway
# An SDK does not answer to an API that is newer than its own, and takes 1.9 at most.
grep -q '"version": "1\.9\.' node_modules/@opentelemetry/api/package.json || failed 'an API of OpenTelemetry that SDKs do not answer to'
[ "$($run --version)" = "$(node -p "require('$root/package.json').version")" ] || failed '--version'
$run check node_modules/reward-gateway/rm-configs >check.log 2>&1 || failed "check: $(cat check.log)"
echo '{"response":"6 * 7 = 42, so\n#### 42","ground_truth":"42"}' >rows.jsonl
$run score --function gsm8k-progressive --input rows.jsonl --output scored.jsonl
grep -q '"reward":1,' scored.jsonl || failed "score: $(cat scored.jsonl)"
! $run analyze scored.jsonl >analyze.log 2>&1 || failed 'analyze ran without DuckDB'
grep -q 'npm i @duckdb/node-api$' analyze.log || failed "analyze names no package: $(cat analyze.log)"
$run demo >demo.log || failed 'demo'
grep -q 'the responses are equal' demo.log || failed "demo: $(tail -n 5 demo.log)"
! grep 'http://' demo.log || failed 'demo names addresses that it has closed'
$run init mine >/dev/null && $run check mine/configs >check.log 2>&1 || failed "init: $(cat check.log)"
(cd mine && ../node_modules/.bin/jiti reward-functions/last-line.test.ts && ../node_modules/.bin/jiti reward-functions/polite.test.ts) >contract.log ||
  failed "the tests of init: $(cat contract.log)"

# As a library: what its types reach is public, an author's editor knows them, and they are what runs.
cat >reach.mjs <<'JS'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
const root = 'node_modules/reward-gateway/dist/src'
const open = { 'index.d.ts': /^(index|library)\.d\.ts$|^core\/(errors\.|sample\/)/, 'contract/index.d.ts': /^(contract|core\/sample)\// }
open['contract/testing.d.ts'] = open['contract/index.d.ts']
open['grading/readers.d.ts'] = /^(grading|core\/sample)\//
for (const [entry, allowed] of Object.entries(open)) {
  const files = new Set([entry])
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, path] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)\.[jt]s['"]/g))
      files.add(`${relative('.', join(dirname(file), path))}.d.ts`)
  }
  const leaks = [...files].filter((file) => !allowed.test(file))
  if (leaks.length > 0) throw new Error(`${entry} reaches ${leaks}`)
}
JS
node reach.mjs || failed 'the public types reach what is not public'
cat >use.ts <<'TS'
import { defineRule } from 'reward-gateway/contract'
import { lastNumber } from 'reward-gateway/grading'
import { ruleContract } from 'reward-gateway/testing'
import { type Gateway, openGateway } from 'reward-gateway'
import { z } from 'zod'

const rule = defineRule({
  truth: z.number(),
  range: [0, 1],
  score: ({ sample, truth }) => Number(Number(lastNumber(sample.response)) === truth),
})
ruleContract({ ok: () => {}, strictSame: () => {} }, rule, {
  full: { response: '4', groundTruth: 4 },
  zero: { groundTruth: 4 },
  malformed: { groundTruth: 4 },
  hacks: {},
})
// @ts-expect-error: a text is no verdict
defineRule({ truth: z.number(), range: [0, 1], score: () => 'good' })

const gateway: Gateway = await openGateway({ configs: ['node_modules/reward-gateway/rm-configs/gsm8k.yaml'] })
const rollouts = [{ response: 'Six times seven is 42.\n#### 42', groundTruth: '42' }]
const [outcome] = (await gateway.score({ reward: 'gsm8k', rollouts })).outcomes
console.log(outcome?.valid ? outcome.reward : outcome?.failure.detail)
await gateway.close(0)
TS
npm pkg set type=module >/dev/null
"$root/node_modules/.bin/tsc" --strict --skipLibCheck --target es2023 --module nodenext --types node --typeRoots "$root/node_modules/@types" use.ts ||
  failed 'the types of the package'
[ "$(node use.js)" = 1 ] || failed 'the library'

$run serve --simulate --port 0 --log-level error >serve.log &
gateway=$!
url=
for _ in $(seq 300); do
  url=$(sed -nE 's/.* at (http:[^ ]+) .*/\1/p' serve.log)
  [ -z "$url" ] || break
  sleep 0.2
done
[ -n "$url" ] || failed 'serve did not start'
curl -sf "$url/v1/score" -H 'content-type: application/json' \
  -d '{"reward":"gsm8k","samples":[{"response":"Six times seven is 42.\n#### 42","ground_truth":"42"}]}' >answer.json
grep -q '"reward":1,"valid":true' answer.json || failed "serve: $(cat answer.json)"
curl -sf "$url/ui/" >/dev/null || failed 'no page at /ui/'
kill -TERM "$gateway"
wait "$gateway" || failed "serve ended with $?"
gateway=
echo 'the package checks, scores, demonstrates, is a library and serves'
