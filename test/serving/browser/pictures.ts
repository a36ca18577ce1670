/** Takes the screenshots of README.md and docs/inspector.md: `node dist/test/serving/browser/pictures.js [FOLDER]`, by default docs/images. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { openScene, play, wholePlay } from './scene.ts'

const folder = process.argv[2] ?? 'docs/images'
mkdirSync(folder, { recursive: true })
const [browser, scene] = await Promise.all([openBrowser(), openScene()])
await play(scene, 0, wholePlay)

/** What happens while a screenshot is taken. */
let under: Promise<void> = Promise.resolve()

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
  async pools(page) {
    for (let step = 0; step < 16; step += 1) {
      const playing = play(scene, wholePlay + 1 + step, wholePlay + 2 + step, 24)
      await new Promise((resolve) => setImmediate(resolve))
      scene.advance(1000)
      await playing
    }
    under = play(scene, wholePlay + 20, wholePlay + 21, 160)
    while (scene.calls() < 60) await new Promise((resolve) => setImmediate(resolve))
    scene.advance(1000)
    await page.getByText(/^[1-9][\d,]* samples in progress/).waitFor()
  },
}

/** Opens a sample of the demo that earned everything. */
async function openBest(page: Page): Promise<void> {
  await page.getByRole('combobox', { name: /^Reward/ }).selectOption('demo')
  await page.getByRole('row').filter({ hasText: '1.500' }).first().getByRole('link').click()
}

const pictures = [
  { name: 'rewards', view: 'rewards', dark: false, width: 1200, height: 780 },
  { name: 'samples', view: 'samples', dark: false, width: 1200, height: 780 },
  { name: 'groups', view: 'groups', dark: true, width: 1200, height: 780 },
  { name: 'playground', view: 'playground', dark: false, width: 1200, height: 780 },
  { name: 'pools', view: 'pools', dark: true, width: 1200, height: 620 },
  { name: 'alerts', view: 'alerts', dark: false, width: 1200, height: 700 },
  { name: 'narrow', view: 'rewards', dark: true, width: 390, height: 780 },
]
for (const { name, view, dark, width, height } of pictures) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: 'UTC',
  })
  const page = await context.newPage()
  await page.goto(`${scene.url}/ui/#/${view}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await ready[name]?.(page)
  await page.screenshot({ path: join(folder, `${name}.png`) })
  await under
  await context.close()
}
await browser.close()
await scene.close()
