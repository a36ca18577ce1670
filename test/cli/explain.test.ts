import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'
import { outcomesOf, sampleOf, testGateway, testModel } from '../support/gateway.ts'

t.test('a record is explained step by step, and its arithmetic ends at the reward', async (t) => {
  const folder = join(t.testdir(), 'records')
  const { servers, config } = await testModel(t, 1, { policy: 'constant', constant: 1 })
  const rule = { name: 'rule', function: 'echo-rule' }
  const judge = { name: 'quality', function: 'digit-judge', model: 'judge', weight: 0.5 }
  const gateway = await testGateway(t, {
    gateway: { models: { judge: config }, record: { folder, text: 'full' } },
    judged: { gate: 'rule >= 0.5', steps: [rule, judge, { ...rule, name: 'again', op: 'mul', weight: 2 }] },
    worked: { steps: [rule], formula: 'rule * 3' },
  })
  const rows = ['0.5', '0', 'throw'].map((response) => sampleOf(response, { id: `s-${response}` }))
  await outcomesOf(gateway, 'judged', rows, { requestId: 'req.1' })
  await outcomesOf(gateway, 'worked', [sampleOf('1', { id: 'x\u202e\u001b[2J' })], { requestId: 'req.2' })
  await gateway.close(0)
  const explain = async (id: string, ...more: string[]) =>
    runCommand(['explain', id, '--records', folder, ...more])

  const scored = (await explain('req.1:0')).stdout.trim().split('\n')
  t.match(scored[0], /^req\.1:0: sample "s-0\.5", scored 20/)
  t.ok(scored.includes('1. rule: score 0.5; begins with 1 x 0.5 = 0.5'), scored.join('\n'))
  t.ok(scored.includes('2. quality: score 1; 0.5 + 0.5 x 1 = 1'))
  t.ok(scored.includes('3. again: score 0.5; 1 x 2 x 0.5 = 1'))
  t.match(
    scored.join('\n'),
    new RegExp(`draw 0 of judge at ${servers[0]?.url} \\(call, 1 attempts, .*answer "1": verdict 1`),
  )
  t.equal(scored.at(-1), 'reward = 1')

  t.match((await explain('req.1:1')).stdout, /2\. quality: off: the gate 'rule >= 0\.5' does not hold/)
  t.match(
    (await explain('req.1:2')).stdout,
    /1\. rule: failed: rule_error: .*\nNo reward: rule_error in rule/s,
  )
  const worked = (await explain('req.2:0')).stdout
  t.match(worked, /formula: rule \* 3\n.*reward = /s)
  t.notOk(
    ['\u001b', '\u202e'].some((char) => worked.includes(char)),
    'text of a sample cannot act on the terminal',
  )
  t.match((await explain('req.1')).stdout, /^req\.1:0 {2}1\nreq\.1:1 {2}0\nreq\.1:2 {2}rule_error\n$/)
})

t.test('what is not there is told, with where it was looked for', async (t) => {
  const folder = t.testdir()
  t.match(await runCommand(['explain', 'nowhere:0', '--records', folder]), {
    code: 1,
    stderr: /RG_INPUT_INVALID: .* holds no record 'nowhere:0'/,
  })
  t.match(await runCommand(['explain', 'x:0']), {
    code: 2,
    stderr: /--records DIR or --config PATH is needed/,
  })
  t.match(await runCommand(['explain']), { code: 2 })
})
