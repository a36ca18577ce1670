/** Takes the screenshots of README.md and docs/inspector.md: `node dist/test/serving/browser/pictures.js [FOLDER]`, by default docs/images. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { openScene, play, type Scene, wholePlay } from './scene.ts'

const folder = process.argv[2] ?? 'docs/images'
mkdirSync(folder, { recursive: true })
const queueFolder = mkdtempSync(join(tmpdir(), 'reward-gateway-pictures-'))
const [browser, scene, queued] = await Promise.all([openBrowser(), openScene(), openScene({ queueFolder })])
await play(scene, 0, wholePlay)
await playQueue(queued)

/** What happens while a screenshot is taken, and what lets it end. */
let under: Promise<void> = Promise.resolve()
let release = () => {}

/** What is done on a page before its screenshot is taken. */
const ready: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  async samples(page) {
    // Judges' questions are kept only while a page is open.
    await play(scene, wholePlay, wholePlay + 1)
    await openBest(page)
    await page.locator('details.asked summary').first().click()
    await page.evaluate('scrollTo(0, 0)')
  },
  async playground(page) {
    await page.getByRole('link', { name: 'Samples' }).click()
    await openBest(page)
    await page.getByRole('link', { name: 'Open in playground' }).click()
    await page.getByRole('button', { name: 'Score', exact: true }).click()
    await page.locator('details.asked summary').first().click()
  },
  async runs(page) {
    await page.getByRole('listitem').filter({ hasText: 'for the answer of a judge' }).waitFor()
    for (const summary of await page.locator('details.inner summary').all()) await summary.click()
  },
  async pools(page) {
    for (let step = 0; step < 16; step += 1) {
      const playing = play(scene, wholePlay + 1 + step, wholePlay + 2 + step, 24)
      await new Promise((resolve) => setImmediate(resolve))
      scene.advance(1000)
      await playing
    }
    // Held answers, since fast ones can be over before they are seen.
    release = scene.holdJudges()
    under = play(scene, wholePlay + 20, wholePlay + 21, 160)
    while (scene.calls() < 60) await new Promise((resolve) => setTimeout(resolve, 10))
    scene.advance(1000)
    await page.getByText(/^[1-9][\d,]* samples in progress/).waitFor()
  },
}

/** Opens a sample of the demo that earned everything. */
async function openBest(page: Page): Promise<void> {
  await page.getByRole('combobox', { name: /^Reward/ }).selectOption('demo')
  await page.getByRole('row').filter({ hasText: '1.500' }).first().getByRole('link').click()
}

/** A run of ten steps that are over, and one that waits for its judge and for answers of its groups. */
async function playQueue({ app, holdJudges }: Scene): Promise<void> {
  const put = async (uid: string, body: object): Promise<void> => {
    const url = `/v1/runs/qwen3-4b-grpo/rollouts/${uid}`
    const { statusCode } = await app.inject({ method: 'PUT', url, payload: body })
    if (statusCode !== 202) throw new Error(`a submission answered ${statusCode}`)
  }
  const submit = (step: number, rollouts: number) =>
    Promise.all(
      Array.from({ length: rollouts }, (_, at) =>
        put(`${step}-${at}`, {
          reward: 'judged',
          training_step: step,
          sample: { prompt: `${step} * ${at}?`, response: `#### ${step * at}`, ground_truth: `${step * at}` },
        }),
      ),
    )
  for (let step = 1; step <= 10; step += 1) {
    await submit(step, 64)
    for (;;) {
      const { unfinished } = (await app.inject('/v1/queue')).json() as { unfinished: number }
      if (unfinished === 0) break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  holdJudges()
  await submit(11, 48)
  for (let at = 0; at < 16; at += 1)
    await put(`group-${at}`, {
      reward: 'ranked',
      training_step: 11,
      sample: { prompt: 'p', response: `${at}`, group_id: `problem-${Math.floor(at / 5)}`, group_size: 8 },
    })
}

const pictures = [
  { name: 'rewards', view: 'rewards', dark: false, width: 1200, height: 780 },
  { name: 'samples', view: 'samples', dark: false, width: 1200, height: 780 },
  { name: 'groups', view: 'groups', dark: true, width: 1200, height: 780 },
  { name: 'playground', view: 'playground', dark: false, width: 1200, height: 780 },
  { name: 'runs', view: 'runs', dark: false, width: 1200, height: 780 },
  { name: 'pools', view: 'pools', dark: true, width: 1200, height: 620 },
  { name: 'alerts', view: 'alerts', dark: false, width: 1200, height: 700 },
  { name: 'narrow', view: 'rewards', dark: true, width: 400, height: 780 },
]
for (const { name, view, dark, width, height } of pictures) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: 'UTC',
  })
  const page = await context.newPage()
  // Alerts say since when by the clock of the browser, and rows by that of the gateway.
  await page.clock.setSystemTime(scene.now())
  await page.goto(`${view === 'runs' ? queued.url : scene.url}/ui/#/${view}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await ready[name]?.(page)
  const path = join(folder, `${name}.png`)
  await page.screenshot({ path })
  // They are in the package, and a palette takes a third of the bytes.
  execFileSync('pngquant', ['--speed', '1', '--quality', '95-100', '--force', '--output', path, path])
  release()
  await under
  await context.close()
}
await browser.close()
await Promise.all([scene.close(), queued.close()])
rmSync(queueFolder, { recursive: true })
