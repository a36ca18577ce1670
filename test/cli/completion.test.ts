import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'

/** The candidates for the last word, as a shell's script reads them. */
async function completed(shell: string, ...words: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runCommand(['completion', shell, '--', ...words])
  t.equal(code, 0, stderr)
  return stdout.split('\n').slice(0, -1)
}

t.test('completion offers commands, options and values', async (t) => {
  t.same(await completed('bash', 'se'), ['serve'])
  t.same(await completed('fish', 'demo', '--k'), ['--keep\tkeeps everything running until Ctrl-C'])
  t.same(await completed('bash', 'serve', '--log-level', 'wa'), ['warn'])
  t.same(await completed('bash', 'prepare', 'subset', '--st'), ['--stratified'])
  t.same(await completed('bash', 'import', 'verl'), ['verl-config'])
})

t.test('completion after an equals sign follows the rules of each shell', async (t) => {
  t.same(await completed('bash', 'serve', '--log-level', '=', 'wa'), ['warn'], 'bash splits the word')
  t.same(await completed('zsh', 'serve', '--log-level=wa'), ['--log-level=warn:'])
  t.same(await completed('fish', 'serve', '--log-level=wa'), ['--log-level=warn\t'])
})

t.test('completion offers the rewards of the configs on the command line', async (t) => {
  const folder = t.testdir({
    'gateway.yaml': 'models: {}\n',
    'one.yaml': 'steps: []\n',
    'two.yaml': 'name: other\nsteps: []\n',
    'broken.yaml': '{{{',
  })
  const names = ['broken', 'one', 'other']
  t.same(await completed('bash', 'score', '--config', folder, '--reward', ''), names)
  t.same(await completed('bash', 'check', folder, '--reward', ''), names)
  t.same(await completed('bash', 'audit', join(folder, 'two.yaml'), '--reward', ''), ['other'])
  t.same(await completed('bash', 'score', '--config', join(folder, 'none'), '--reward', ''), [])
  t.ok((await completed('bash', 'evaluate', '--reward', '')).includes('demo'), 'else of the shipped ones')
})

t.test('completion leaves file names to the shell', async (t) => {
  t.same(await completed('bash', 'serve', '--config', ''), [])
  t.same(await completed('zsh', 'serve', '--config', ''), [':files'])
  t.same(await completed('fish', 'check', ''), [':files'])
})

t.test('completion offers nothing for unknown words', async (t) => {
  for (const words of [
    ['nonsense', ''],
    ['__proto__', ''],
    ['constructor', '--'],
    ['serve', '--__proto__', ''],
  ])
    t.same(await completed('bash', ...words), [], words.join(' '))
})

t.test('completion prints a script for each supported shell', async (t) => {
  for (const shell of ['bash', 'zsh', 'fish'])
    t.match(await runCommand(['completion', shell]), { code: 0, stdout: `completion ${shell} -- ` })
  t.match(await runCommand(['completion', 'csh']), { code: 2, stderr: /only for bash, zsh, fish/ })
  t.match(await runCommand(['completion']), { code: 2, stderr: /a shell is needed/ })
})

t.test('bash completes with the script, and executes nothing from the command line', async (t) => {
  const folder = t.testdir({})
  const main = resolve('dist/src/cli/main.js')
  const script = `
    reward-gateway() { '${process.execPath}' '${main}' "$@"; }
    source <(reward-gateway completion bash)
    COMP_WORDS=(reward-gateway score '$(touch ${folder}/ran)' --keep = f) COMP_CWORD=5
    _reward_gateway
    echo "\${COMPREPLY[*]}"`
  const stdout = await new Promise<string>((done, failed) => {
    execFile('bash', ['-c', script], (error, text) => (error ? failed(error) : done(text)))
  })
  t.equal(stdout, 'facts\n')
  t.notOk(existsSync(join(folder, 'ran')))
})
