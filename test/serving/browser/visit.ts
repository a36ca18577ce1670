import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Scene } from './scene.ts'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
export const wide = { width: 1200, height: 800 }
export const narrow = { width: 390, height: 800 }

/** A page in its own context, and what went wrong in it. */
interface Visit {
  readonly page: Page
  /** Console messages, script errors, and requests to other origins. */
  readonly troubles: readonly string[]
  readonly context: BrowserContext
}

/** Opens a view in a context of its own. */
export async function visit(
  browser: Browser,
  { url }: Pick<Scene, 'url'>,
  view: string,
  { viewport = wide, colorScheme = 'light' as 'light' | 'dark' } = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC' })
  const page = await context.newPage()
  const troubles: string[] = []
  page.on('console', (message) => troubles.push(`console: ${message.text()}`))
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.origin !== new URL(url).origin) troubles.push(`left the gateway: ${request.url()}`)
    if (/key|token/i.test(asked.search)) troubles.push(`a key in an address: ${asked.search}`)
  })
  await page.goto(`${url}/ui/#/${view}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return { page, troubles, context }
}

/** The violations that axe-core finds, shortened. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource)
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + ' ' + failureSummary.slice(0, 200)).join(' | ')))",
  )) as string[]
  return found
}

/** By how many pixels the page is wider than its viewport. */
export const overflow = (page: Page): Promise<unknown> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
