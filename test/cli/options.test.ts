import t from 'tap'
import { flag, number, oneOf, parse, repeated, text, whole } from '../../src/cli/options.ts'
import { runCommand } from '../support/command-line.ts'

const options = {
  watch: flag('w'),
  port: whole('PORT', 'p', { high: 65_535, or: 8080 }),
  wait: number('SECONDS', 'w', { low: 0, unit: 'seconds' }),
  level: oneOf(['info', 'warn'], 'l', { or: 'info' }),
  stop: repeated(text('TEXT', 's')),
}
const read = (...argv: readonly string[]) =>
  parse(argv, options, { command: 'try', takesPositionals: false }).values

t.test('each option has its checked value or its default', async (t) => {
  t.same(read(), { watch: false, port: 8080, wait: undefined, level: 'info', stop: [] })
  t.same(read('--port', '0', '--wait=1.5', '--stop', 'a', '--stop=--b', '--watch', '--port=1'), {
    watch: true,
    port: 1,
    wait: 1.5,
    level: 'info',
    stop: ['a', '--b'],
  })
})

t.test('a message about a wrong value gives the range, the unit and the nearest valid word', async (t) => {
  const cases: [string[], RegExp][] = [
    [['--port', '65536'], /^--port: must be a whole number from 0 to 65535, not '65536'$/],
    [['--port', '1.5'], /whole number/],
    [['--port='], /whole number/],
    [['--wait', '-1'], /^--wait: must be a number of seconds of at least 0, not '-1'$/],
    [['--wait', 'Infinity'], /number of seconds/],
    [['--level', 'wran'], /^--level: must be one of info, warn, not 'wran'; did you mean 'warn'\?$/],
    [['--prot', '1'], /^there is no option '--prot'; did you mean '--port'\?$/],
    [['--port', '--watch'], /^--port needs a value; '--watch' is an option/],
    [['--watch=yes'], /^--watch takes no value$/],
    [['-p'], /^there is no option '-p'; see reward-gateway try --help$/],
    [['port'], /^'port' is not expected here; did you mean '--port'\?$/],
  ]
  for (const [argv, message] of cases)
    t.throws(() => read(...argv), { code: 'RG_COMMAND_INVALID', message }, argv.join(' '))
})

t.test('option names cannot reach a prototype', async (t) => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__proto__.polluted']
  for (const name of names)
    for (const argv of [[`--${name}=1`], [`--${name}`, '1'], [`--no-${name}`]])
      t.throws(() => read(...argv), { code: 'RG_COMMAND_INVALID' }, argv.join(' '))
  for (const name of names) t.match(await runCommand([name]), { code: 2 }, name)
  t.same(Object.keys(Object.prototype), [])
  t.notOk('polluted' in {})
})

t.test('the help of each command explains each option once, and has an example', async (t) => {
  const list = (await runCommand(['--help'])).stdout
  const commands = [...list.matchAll(/^ {2}([a-z]+(?: [a-z]+)?) {2}/gm)].map(([, name = '']) => name)
  t.ok(commands.length > 15)
  for (const name of commands) {
    const { code, stdout } = await runCommand([...name.split(' '), '--help'])
    t.equal(code, 0)
    t.match(stdout, new RegExp(`^reward-gateway ${name} `))
    const [synopsis = ''] = stdout.split('\n\n')
    const [, explained = ''] = stdout.split('\nOptions:\n')
    const known = [...explained.matchAll(/^ {2}--([\w-]+)/gm)].map(([, option]) => option)
    t.equal(new Set(known).size, known.length, name)
    const [, example = ''] = stdout.split('\nExample:\n')
    t.match(example, new RegExp(`^  reward-gateway ${name} \\S`), name)
    for (const [, option] of example.matchAll(/--([a-z][\w-]*)/g))
      t.ok(known.includes(option), `${name}: the example has --${option}`)
    for (const [, option] of synopsis.matchAll(/--([a-z][\w-]*)/g))
      t.ok(known.includes(option), `${name}: --${option}`)
  }
})
