import t from 'tap'
import { followedPages, followPage, optInPages } from '../support/page.ts'
import { withoutSandbox } from '../support/sandbox.ts'

const cannotRunPrograms = await withoutSandbox()

for (const page of followedPages) {
  const skip = page === 'recipes/code' && cannotRunPrograms
  t.test(`docs/${page}.md does what it says`, { skip }, (t) => followPage(t, `docs/${page}.md`))
}

for (const page of optInPages)
  t.test(
    `docs/${page}.md needs its Python package: npm run test:verifiers follows it`,
    { skip: 'opt-in' },
    async () => {},
  )
