import { execFileSync } from 'node:child_process'
import { type Browser, chromium } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The Chromium named by `CHROMIUM`, or the first one on the PATH; null if there is none. */
export function findChromium(): string | null {
  const { CHROMIUM: named } = process.env
  if (named) return named
  for (const name of names) {
    try {
      return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    } catch {
      // The next name may be there.
    }
  }
  return null
}

/** Starts a headless Chromium. Throws if none is installed. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === null)
    throw new Error("no Chromium was found: 'apt-get install chromium', or name one in CHROMIUM")
  // Containers mostly run as root, where Chromium's sandbox does not start. Only our own page is opened.
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 })
}
