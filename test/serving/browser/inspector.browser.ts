import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import t from 'tap'
import { figures } from '../../../src/serving/telemetry/monitors/run-figures.ts'
import { exampleRollouts } from '../../../src/simulator/word-problems.ts'
import { dataUrl, imagePart, png } from '../../support/images.ts'
import { withoutPython } from '../../support/python.ts'
import { attackRollout, attackRows } from './attack-rows.ts'
import { openBrowser } from './browser.ts'
import { openScene, play, type Scene } from './scene.ts'
import { narrow, overflow, violations, visit, wide } from './visit.ts'

const views = ['rewards', 'samples', 'groups', 'playground', 'runs', 'pools', 'alerts'] as const

// A browser on a busy machine is slow.
t.setTimeout(300_000)

const [browser, scene] = await Promise.all([openBrowser(), openScene()])
await play(scene, 0, 8)
t.teardown(async () => {
  await browser.close()
  await scene.close()
})

const boxOf = async (place: Locator) => (await place.boundingBox()) ?? { height: Number.NaN }

t.test('every view passes axe, fits the viewport and logs nothing, in both themes', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, troubles, context } = await visit(browser, scene, 'rewards', { colorScheme })
    for (const view of views) {
      await page.setViewportSize(wide)
      await page
        .getByRole('navigation')
        .getByRole('link', { name: new RegExp(`^${view}`, 'i') })
        .click()
      await page.getByRole('heading', { level: 1, name: new RegExp(view, 'i') }).waitFor()
      t.strictSame(await violations(page), [], `${view}, ${colorScheme}`)
      await page.setViewportSize(narrow)
      t.equal(await overflow(page), 0, `${view}, ${colorScheme}: nothing stands out at 390 px`)
      if (view === 'rewards') {
        const parts = page.locator('.terms .narrow-only td')
        t.match(await parts.first().innerText(), /^weight 1 · /)
        for (const { height } of await Promise.all((await parts.all()).map(boxOf)))
          t.ok(height < 30, `what a term does stands in one line, ${height} px high`)
      }
      if (colorScheme === 'dark') t.strictSame(await violations(page), [], `${view}, narrow`)
    }
    t.strictSame(troubles, [], 'no message, no error, nothing outside')
    await context.close()
  }
})

t.test('a chosen theme survives a reload', async (t) => {
  const { page, context } = await visit(browser, scene, 'rewards', { colorScheme: 'light' })
  const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>
  const light = await ground()
  await page.getByRole('button', { name: /^Theme/ }).click()
  await page.getByRole('button', { name: /^Theme/ }).click()
  t.not(await ground(), light)
  await page.reload()
  await page.getByRole('button', { name: /^Theme: dark/ }).waitFor()
  t.not(await ground(), light)
  await context.close()
})

t.test('new results appear without a reload, with the distribution of each term', async (t) => {
  const { page, troubles, context } = await visit(browser, scene, 'rewards')
  const rows = () => page.getByRole('row', { name: /^demo/ }).getByRole('cell').first().innerText()
  const before = await rows()
  await play(scene, 8, 9)
  await page.waitForFunction(
    `document.querySelector('tr.chosen td')?.textContent !== ${JSON.stringify(before)}`,
  )
  for (const term of ['rule', 'careful', 'quick'])
    await page.getByRole('img', { name: new RegExp(`scores of ${term} from 0 to 1`) }).waitFor()
  await page.getByRole('img', { name: /^Rewards of demo over time: \d+ values/ }).waitFor()
  t.strictSame(troubles, [])
  await context.close()
})

t.test('samples can be filtered, and a sample is explained step by step with its judges', async (t) => {
  const { page, troubles, context } = await visit(browser, scene, 'samples')
  // Questions are kept only while a page is open.
  const [right] = exampleRollouts()
  const known = { ...right, response: `A known answer.\n${right?.response}` }
  await scene.score({ reward: 'demo', run: 'by-hand', samples: [known] })
  scene.advance(1000)
  await page.getByText('A known answer.').waitFor()
  const table = page.getByRole('table')
  const all = await table.getByRole('row').count()
  await page.getByRole('combobox', { name: /^Outcome/ }).selectOption('invalid')
  await page.getByText('A known answer.').waitFor({ state: 'detached' })
  t.match(await table.innerText(), /bad_sample/)
  t.ok((await table.getByRole('row').count()) < all)
  await page.getByRole('combobox', { name: /^Outcome/ }).selectOption('all')
  await page.getByRole('combobox', { name: /^Reward/ }).selectOption('demo')
  await page.getByLabel('Filter').fill('nothing-has-this-word')
  await page.getByText('No sample matches the filter.').waitFor()
  await page.getByLabel('Filter').fill('run:by-hand -kind:bad known')
  await table
    .getByRole('row')
    .filter({ hasText: /1\.[35]00/ })
    .first()
    .getByRole('link')
    .click()
  const detail = page.getByRole('region', { name: 'Sample' })
  await detail.getByText('1 × 1 = 1', { exact: true }).waitFor()
  await detail.getByText('1 + 0.3 × 1 = 1.3').waitFor()
  await detail.locator('details.asked summary').first().click()
  await detail
    .getByRole('region', { name: /^Question/ })
    .first()
    .waitFor()
  t.match(await detail.innerText(), /Does the answer solve the question/)
  t.strictSame(await violations(page), [])
  await page.setViewportSize(narrow)
  t.equal(await overflow(page), 0)
  await detail.getByRole('link', { name: 'Open in playground' }).click()
  await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor()
  t.match(await page.getByLabel(/^Response/).inputValue(), /^A known answer/)
  t.strictSame(troubles, [])
  await context.close()
})

t.test(
  'a list stands still under the pointer, and shows terms and texts beside an open sample',
  async (t) => {
    const { page, troubles, context } = await visit(browser, scene, 'samples')
    const rows = page.locator('.sample-table tbody tr')
    const score = async (id: string) => {
      await scene.score({
        reward: 'gsm8k',
        samples: [{ id, response: `Of ${id}.\n#### 1`, ground_truth: '1' }],
      })
      scene.advance(1000)
    }
    await score('first')
    await rows.first().getByText('Of first').waitFor()
    await rows.first().hover()
    await score('second')
    await page.getByText(/recent samples, 1 newer held back/).waitFor()
    t.match(await rows.first().innerText(), /Of first/)
    await rows.first().getByRole('link').click()
    const detail = page.getByRole('region', { name: 'Sample' })
    await detail.getByText('1 × 1 = 1', { exact: true }).waitFor()
    t.equal(await page.evaluate("document.activeElement.getAttribute('aria-label')"), 'Sample')
    t.match(await rows.first().innerText(), /first.*rule\s*1\.00.*Of first/s)
    await page.mouse.move(5, 5)
    await rows.first().getByText('Of second').waitFor()
    await detail.getByRole('link', { name: 'Close' }).press('Enter')
    await detail.waitFor({ state: 'detached' })
    t.match(await page.evaluate('document.activeElement.innerText'), /first/, 'the focus is where it was')
    // The gateway keeps 400 rows: no other can be opened.
    await page.getByRole('heading', { level: 1 }).click()
    const sixteen = Array.from({ length: 16 }, (_, at) => ({
      id: `${at}`,
      response: '#### 1',
      ground_truth: '1',
    }))
    for (let times = 0; times < 30; times += 1) {
      await scene.score({ reward: 'gsm8k', samples: sixteen })
      scene.advance(1000)
    }
    await page.getByText(/^400 recent samples/).waitFor()
    await rows.last().getByRole('link').click()
    await detail.getByText('Ground truth').waitFor()
    t.strictSame(troubles, [])
    await context.close()
  },
)

t.test('alerts say what to do, and which judge is constant', async (t) => {
  for (let step = 100; step < 104; step += 1) await play(scene, step, step + 1, 24)
  const { page, troubles, context } = await visit(browser, scene, 'alerts')
  const constant = page.getByRole('listitem').filter({ hasText: /Constant judges: 50 %, above 0 %/ })
  t.match(
    await constant.innerText(),
    /'careful' gave 1 to all of [\d,]+ answers.*demo.*since before \d\d:\d\d/s,
  )
  for (const alert of await page.locator('.alert').all())
    t.match(await alert.innerText(), /What to do: [A-Z].*Open (?:Groups|Samples|Pools)/s)
  await page.locator('.fold summary').first().click()
  const table = page.getByRole('table', { name: /^Figures of/ }).first()
  const meanings = await table.locator('td:last-child').allInnerTexts()
  t.strictSame(
    figures.map(({ help }, at) => meanings[at]?.startsWith(`${help} `) && meanings[at] !== `${help} `),
    figures.map(() => true),
    'each figure says what to do',
  )
  t.strictSame(await violations(page), [])
  await constant.getByRole('link', { name: 'Open Samples' }).click()
  await page.getByRole('heading', { level: 1, name: 'Samples' }).waitFor()
  t.strictSame(troubles, [])
  await context.close()
})

t.test('runs show what the queue holds of them and what it waits for', async (t) => {
  const queueFolder = mkdtempSync(join(tmpdir(), 'reward-gateway-page-'))
  const queued = await openScene({ queueFolder })
  t.teardown(async () => {
    await queued.close()
    rmSync(queueFolder, { recursive: true, force: true })
  })
  const { page, troubles, context } = await visit(browser, queued, 'runs')
  await page.getByText('No run yet.').waitFor()
  const put = async (uid: string, reward: string, sample: object) => {
    const url = `/v1/runs/run-7/rollouts/${uid}`
    const { statusCode } = await queued.app.inject({ method: 'PUT', url, payload: { reward, sample } })
    t.equal(statusCode, 202)
  }
  await put('a', 'rule', { response: '#### 1', ground_truth: '1' })
  for (const uid of ['b', 'c'])
    await put(uid, 'ranked', {
      prompt: 'p',
      response: uid,
      group_id: '<img src=x onerror=alert(1)>\u202e',
      group_size: 4,
    })
  const run = page.getByRole('region', { name: 'Run run-7' })
  await run.getByText('2 for other answers of the group').waitFor()
  await run.getByText('1 in all').waitFor()
  t.match(
    await run.innerText(),
    /Backlog\s*2.*Oldest\s*[\d.]+ m?s\s*first deadline in \d+ min.*Accepted\s*0\.\d \/s.*Finals/s,
  )
  await run.locator('summary').click()
  await run.getByRole('row', { name: /onerror=alert\(1\)>⟨U\+202E⟩ 2 4 \d+ min/ }).waitFor()
  t.strictSame(await violations(page), [])
  await page.setViewportSize(narrow)
  t.equal(await overflow(page), 0)
  t.strictSame(troubles, [])
  await context.close()
})

t.test(
  'the playground begins with the reward in use, fills in its last sample, and can undo that',
  async (t) => {
    const { page, troubles, context } = await visit(browser, scene, 'playground')
    t.equal(await page.getByRole('combobox', { name: 'Reward' }).inputValue(), 'demo')
    await page.getByRole('combobox', { name: 'Reward' }).selectOption('gsm8k')
    const response = page.getByLabel(/^Response/)
    await response.fill('mine')
    await page.getByRole('button', { name: 'Fill in its last sample' }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.waitForFunction(
      `![...document.querySelectorAll('textarea')].some(({ value }) => value === 'mine')`,
    )
    await page.getByRole('button', { name: 'Score', exact: true }).click()
    await page
      .getByRole('region', { name: 'Result' })
      .getByText(/× [\d.]+ = /)
      .waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    t.equal(await response.inputValue(), 'mine')
    await page.getByRole('combobox', { name: 'Reward' }).selectOption('countdown')
    await page.getByRole('button', { name: 'Fill in an example' }).waitFor()
    t.strictSame(troubles, [])
    await context.close()
  },
)

t.test('the playground works with the keyboard alone', async (t) => {
  const { page, troubles, context } = await visit(browser, scene, 'rewards')
  const focused = () =>
    page.evaluate(
      "(document.activeElement?.closest('label')?.innerText ?? document.activeElement?.innerText ?? '').trim()",
    ) as Promise<string>
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab')
      if (name.test(await focused())) return
    }
    throw new Error(`the key Tab does not reach ${name}`)
  }
  await tabTo(/^Playground$/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor()
  await tabTo(/^Reward/)
  await page.keyboard.type('gsm8k')
  await tabTo(/^Prompt/)
  await page.keyboard.type('6 * 7?')
  await tabTo(/^Response/)
  await page.keyboard.type('6 * 7 = 42, so\n#### 42')
  await tabTo(/^Ground truth/)
  await page.keyboard.type('42')
  await tabTo(/^Score$/)
  await page.keyboard.press('Enter')
  const result = page.getByRole('region', { name: 'Result' })
  await result.getByText('1 × 1 = 1', { exact: true }).waitFor()
  t.match(await result.innerText(), /1\s*gsm8k/)
  t.strictSame(await violations(page), [])
  t.strictSame(troubles, [])
  await context.close()
})

t.test('images of a rollout are thumbnails, and only where texts are shown', async (t) => {
  const salt = 0x60
  const shown = imagePart(dataUrl(png(700, 350, salt)))
  const sample = {
    id: 'pictured',
    ground_truth: '1',
    prompt: [{ role: 'user', content: [shown, { type: 'text', text: 'What is x?' }] }],
    response: [
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c', function: { name: 'zoom', arguments: '{}' } }],
      },
      {
        role: 'tool',
        tool_call_id: 'c',
        content: [imagePart(dataUrl(png(4, 8, salt))), imagePart('https://evil.invalid/x.png')],
      },
      { role: 'assistant', content: '#### 1' },
    ],
  }
  const open = async (scene: Scene) => {
    const visited = await visit(browser, scene, 'samples')
    await scene.score({ reward: scene === withheld ? 'rule' : 'gsm8k', samples: [sample] })
    scene.advance(1000)
    await visited.page.getByRole('link', { name: /Sample pictured/ }).click()
    const detail = visited.page.getByRole('region', { name: 'Sample' })
    await detail.getByText('Ground truth').waitFor()
    return { ...visited, detail }
  }
  const withheld = await openScene({ keys: {}, text: 'hash' })
  t.teardown(() => withheld.close())

  const { page, troubles, context, detail } = await open(scene)
  await detail.getByRole('img', { name: 'Image, 700 by 350 pixels' }).waitFor()
  await detail.getByRole('img', { name: 'Image, 4 by 8 pixels' }).waitFor()
  const canvases = (await page.evaluate(
    "[...document.querySelectorAll('canvas')].map((c) => [c.width, c.height, ...c.getContext('2d').getImageData(1, 1, 1, 1).data])",
  )) as number[][]
  t.strictSame(canvases, [
    [320, 160, salt, salt, salt, 255],
    [4, 8, salt, salt, salt, 255],
  ])
  t.match(await detail.innerText(), /image\/png, \d+ bytes, SHA-256 .*sent without bytes, SHA-256/s)
  t.strictSame(await violations(page), [])
  await page.setViewportSize(narrow)
  t.equal(await overflow(page), 0, 'thumbnails do not widen the page')
  t.strictSame(troubles, [], 'no address was asked')
  await context.close()

  const hidden = await open(withheld)
  t.equal(await hidden.page.locator('canvas').count(), 0)
  t.match(await hidden.detail.innerText(), /image\/png, \d+ bytes, SHA-256/)
  t.strictSame(hidden.troubles, [])
  await hidden.context.close()
})

t.test('text of a policy is shown literally and executes nothing', async (t) => {
  const { page, troubles, context } = await visit(browser, scene, 'samples')
  await scene.score({
    reward: 'gsm8k',
    run: '<img src=x onerror=alert(1)>',
    samples: [
      ...attackRows.map(({ sample }) => sample),
      attackRollout,
      {
        id: `long-${'y'.repeat(500_000)}`,
        group_id: `attack${'g'.repeat(500_000)}`,
        response: '#### 1',
        ground_truth: '1',
      },
    ],
  })
  scene.advance(1000)
  for (const { sample, shown } of attackRows) {
    const { id } = sample
    await page.getByLabel('Filter').fill(`group:attack`)
    const link = page.getByRole('link', { name: new RegExp(`Sample ${id}`) })
    await link.click()
    const detail = page.getByRole('region', { name: 'Sample' })
    await detail.getByRole('heading', { level: 2, name: id, exact: true }).waitFor()
    const response = detail.getByRole('region', { name: 'Response' })
    await response.waitFor()
    const text = await response.innerText()
    for (const part of shown) t.ok(text.includes(part), `${id} shows ${part.slice(0, 40)}`)
    t.equal(await overflow(page), 0, `${id} does not widen the page`)
    t.notMatch(text, /[^\P{Cc}\n\t]|\p{Cf}/u, `${id}: no unseen sign is left`)
  }
  await page.getByRole('link', { name: /Sample long-y/ }).click()
  await page.getByRole('heading', { level: 2, name: /^long-y{195} \[…, 20/ }).waitFor()
  t.equal(await overflow(page), 0, 'a long id does not widen the page')
  await page.getByRole('link', { name: /Sample rollout/ }).click()
  const detail = page.getByRole('region', { name: 'Sample' })
  await detail.getByRole('region', { name: 'Rollout, turn 3', exact: true }).waitFor()
  for (const folded of await detail.locator('details.asked').all()) await folded.locator('summary').click()
  const shown = await detail.innerText()
  for (const part of [
    'think <script>',
    'call <script>',
    '{"at":"<script>',
    'result <script>',
    '⟨U+202E⟩reversed',
  ])
    t.ok(shown.includes(part), `a rollout shows ${part}`)
  t.match(shown, /4 turns, 2 calls, 1 malformed/)
  t.match(shown, /image\/svg\+xml, 6 bytes, SHA-256 /)
  t.strictSame(await violations(page), [])
  t.equal(await overflow(page), 0, 'a rollout does not widen the page')
  t.equal(await page.locator('main script, main img, main iframe, main style, main object').count(), 0)
  t.equal(await page.evaluate('globalThis.pwned'), undefined)
  t.strictSame(troubles, [], 'nothing ran and nothing was loaded')
  await context.close()
})

t.test(
  'tests of a program are rows, those that failed first, and nothing in them runs',
  { skip: withoutPython },
  async (t) => {
    const coding = await openScene({ hasCode: true })
    t.teardown(() => coding.close())
    const { page, troubles, context } = await visit(browser, coding, 'samples')
    const markup = '<script>globalThis.pwned = 1</script>\u202e'
    const program = `n = int(input())\nif n == 40: raise KeyError("${markup}")\nprint("${markup}" if n == 20 else n)`
    const numbers = Array.from({ length: 60 }, (_, at) => `${at}`)
    const response = `\`\`\`python\n${program}\n\`\`\``
    const sample = { prompt: 'p', response, ground_truth: { inputs: numbers, outputs: numbers } }
    await coding.score({ reward: 'code', samples: [{ id: 'tested', ...sample }] })
    coding.advance(1000)
    await page.getByRole('link', { name: /Sample tested/ }).click()
    const tests = page.getByRole('region', { name: 'Tests' })
    await tests.getByText('58 of 60 tests passed').waitFor()
    t.equal(await tests.locator('summary:visible').count(), 3, 'two that failed, and one line for the rest')
    t.match(await tests.innerText(), /Test 21\s*wrong.*Test 41\s*exception.*KeyError.*58 that passed/s)
    await tests.locator('summary:visible').first().click()
    await tests.getByRole('region', { name: 'Standard output' }).first().waitFor()
    t.match(await tests.innerText(), /Expected\s*20\s.*<script>globalThis.pwned = 1<\/script>⟨U\+202E⟩/s)
    await tests.getByText('58 that passed').click()
    await tests.getByText('Test 60').waitFor()
    t.strictSame(await violations(page), [])
    await page.setViewportSize(narrow)
    t.equal(await overflow(page), 0)
    t.equal(await page.evaluate('globalThis.pwned'), undefined)
    t.strictSame(troubles, [])
    await context.close()
  },
)

t.test('the page asks for a key, keeps it in the tab only, and drains with an admin key', async (t) => {
  const env = { READER: 'reader-key-0123456789', ADMIN: 'admin-key-0123456789' }
  const keys = {
    reader: { env: 'READER', scopes: ['read', 'score'] },
    admin: { env: 'ADMIN', scopes: ['admin'] },
  }
  const guarded = await openScene({ keys, env, text: 'hash' })
  t.teardown(() => guarded.close())
  const { page, troubles, context } = await visit(browser, guarded, 'samples')
  t.match(await page.getByRole('heading', { level: 1 }).innerText(), /API key/)
  t.strictSame(await violations(page), [])
  await page.getByLabel('Key', { exact: true }).fill('not-a-key-at-all-0')
  await page.getByRole('button', { name: 'Use this key' }).click()
  await page.getByText(/cannot read/).waitFor()
  await page.getByLabel('Key', { exact: true }).fill(env.READER)
  await page.getByRole('button', { name: 'Use this key' }).click()
  await page.getByText('Texts are withheld').waitFor()
  t.strictSame(
    [await page.evaluate('JSON.stringify(localStorage)'), await page.evaluate('document.cookie')].map(
      (kept) => String(kept).includes('reader-key'),
    ),
    [false, false],
  )
  await page.reload()
  await page.getByRole('link', { name: 'Pools' }).click()
  await page.getByRole('button', { name: /^Drain/ }).click()
  const dialog = page.getByRole('dialog')
  t.strictSame(await violations(page), [])
  await dialog.getByLabel(/Admin key/).fill(env.ADMIN)
  await dialog.getByRole('button', { name: 'Drain' }).click()
  await dialog.waitFor({ state: 'detached' })
  guarded.advance(1000)
  await page.getByText('draining', { exact: true }).waitFor()
  await page.getByRole('button', { name: /^Resume/ }).waitFor()
  // The browser itself logs the refused requests before a key was entered.
  t.strictSame(
    troubles.filter((trouble) => !/status of 401/.test(trouble)),
    [],
  )
  await context.close()
})
