import t from 'tap'
import type { Part } from '../../../src/core/sample/sample.ts'
import { samplesOf } from '../../../src/workbench/dataset/samples.ts'
import { dataUrl, png, sha256 } from '../../support/images.ts'

const [cat, dog] = [png(4, 3), png(3, 4)]
const images = [dataUrl(cat), { bytes: dog.toString('base64'), path: null }]
const truth = { reward_model: { ground_truth: '5' }, response: '5' }

const shapeOf = (value: object) => {
  const [sample] = samplesOf({ value, literals: [] }, 0, [])
  if (!sample || 'failure' in sample || typeof sample.prompt === 'string') return sample
  return sample.prompt.map(({ role, content, parts }) => [role, content, parts?.map(shownPart)])
}

const shownPart = (part: Part): string => ('text' in part ? part.text : 'sha256' in part ? part.sha256 : '')

t.test('images of a row stand where its prompt marks them', async (t) => {
  const prompt = [
    { role: 'system', content: 'Look.' },
    { role: 'user', content: '<image>Is it like <image>? And <image>?' },
  ]
  const parts = [sha256(cat), 'Is it like ', sha256(dog), '? And ', '<image>', '?']
  const asked = ['user', 'Is it like ? And <image>?', parts]
  t.strictSame(shapeOf({ ...truth, prompt, images }), [['system', 'Look.', undefined], asked])
  t.strictSame(shapeOf({ prompt: 'What?', images, response: '5' }), [
    ['user', 'What?', [sha256(cat), sha256(dog), 'What?']],
  ])
})

t.test('a row without images stays as it is', async (t) => {
  for (const none of [[], null])
    t.match(shapeOf({ prompt: 'What?', images: none, response: '5' }), { prompt: 'What?' })
  t.match(shapeOf({ ...truth, prompt: 'What?' }), { prompt: 'What?' })
})
