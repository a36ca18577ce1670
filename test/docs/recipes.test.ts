import t from 'tap'
import { followedPages, followPage, optInPages } from '../support/page.ts'

for (const page of followedPages)
  t.test(`docs/${page}.md does what it says`, (t) => followPage(t, `docs/${page}.md`))

for (const page of optInPages)
  t.test(
    `docs/${page}.md needs its Python package: npm run test:verifiers follows it`,
    { skip: 'opt-in' },
    async () => {},
  )
