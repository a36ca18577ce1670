import t from 'tap'
import { followPage } from '../support/page.ts'

for (const page of [
  'concepts',
  'figures',
  'quickstart',
  'recipes/add-a-judge',
  'recipes/add-a-rule',
  'recipes/add-a-trainer',
  'recipes/countdown',
  'recipes/decisions',
  'recipes/geo3k-vlm',
  'recipes/gsm8k',
  'recipes/instruction-following',
  'recipes/lean',
  'recipes/length',
  'recipes/nemo-gym-resources',
  'recipes/npg-muse',
  'recipes/rider',
  'recipes/rubrics',
  'recipes/service',
  'recipes/short-answers',
  'recipes/step-rewards',
  'recipes/tool-call',
  'recipes/tool-use',
  'recipes/translation',
])
  t.test(`docs/${page}.md does what it says`, (t) => followPage(t, `docs/${page}.md`))

for (const page of ['recipes/reasoning-gym', 'recipes/verifiers-rewards'])
  t.test(
    `docs/${page}.md needs its Python package: npm run test:verifiers follows it`,
    { skip: 'opt-in' },
    async () => {},
  )
