/** What a trainer leaves out that a reward needs, and what it turns into a number that nobody chose. */
import { questionImages } from '../../contract/question.ts'
import type { ImagePart, Message, Sample } from '../../core/sample/sample.ts'
import { isOverGroup } from '../../scoring/engine/step.ts'
import { shownQuestion } from '../../scoring/engine/unseen-content.ts'
import type { FunctionHost } from '../../scoring/functions/function-host.ts'
import { rewardRange } from '../../scoring/plan/fold.ts'
import type { Plan, PlanStep } from '../../scoring/plan/plan.ts'
import type { TrainerSettings } from '../../trainers/format.ts'
import { type SentByTrainer, sentByTrainers } from '../../trainers/sent.ts'
import { hasSeveralTexts } from './contents.ts'
import { questionAbout, questionOf } from './questions.ts'

interface CheckedTrainer {
  readonly name: keyof typeof sentByTrainers
  /** Of gateway.yaml. */
  readonly settings: TrainerSettings | undefined
}

/** Warnings about a reward for one trainer, as sentences. `samples` are the first of the user's rows, if there are any. */
export async function trainerWarnings(
  plan: Plan,
  { name: trainer, settings }: CheckedTrainer,
  samples: readonly Sample[],
  functions: FunctionHost,
): Promise<readonly string[]> {
  const sent: SentByTrainer = sentByTrainers[trainer]
  const found: string[] = []
  const compares = plan.steps.find(isOverGroup)
  if (compares && !sent.groups)
    found.push(
      `${plan.name}, step ${compares.name}: compares the answers of a group, but ${trainer} sends each answer alone, so each request is refused`,
    )
  found.push(...numberWarnings(plan, trainer, settings))
  for (const step of plan.steps) {
    const where = `${plan.name}, step ${step.name} (${step.function.name})`
    if (step.ask === null) continue
    if (sent.withoutPrompt !== null && (await showsPrompt(step, functions)))
      found.push(
        `${where}: asks about the prompt, and ${trainer} sends none${when(sent.withoutPrompt)}; let the ground truth carry the question as rm_prompt`,
      )
    if (sent.withoutImages !== null && sent.withoutPrompt !== 'ever' && (await showsImages(step, functions)))
      found.push(
        `${where}: shows the prompt's images, and ${trainer} sends none${when(sent.withoutImages)}, so a prompt with images is judged by its text alone`,
      )
    if (sent.turns && (await hidesTurns(step, functions)))
      found.push(
        `${where}: does not show what tools answered and what the policy did before its last turn, which ${trainer} sends; transcript(sample) shows it`,
      )
  }
  if (trainer === 'areal' && plan.steps.some(({ ask }) => ask !== null))
    found.push(
      `${plan.name}: asks a judge, and AReaL's own workflows train with 0 where a reward takes longer than 15 s; name one of reward_gateway_client.areal_workflow`,
    )
  if (sent.turns && samples.some(hasSeveralTexts) && plan.steps.some(({ ask }) => ask === null))
    found.push(
      `${plan.name}: ${trainer} sends all turns, and rules read the text of the assistant's last one as the response; earlier versions joined all turns`,
    )
  return found
}

/** Where a failure, or a reward below what the trainer keeps, would train as a number that nobody chose. */
function numberWarnings(
  plan: Plan,
  trainer: string,
  settings: TrainerSettings | undefined,
): readonly string[] {
  const { zeroWhen, lowest }: SentByTrainer = sentByTrainers[trainer as keyof typeof sentByTrainers]
  const found: string[] = []
  const chosen = chosenNumber(plan, settings)
  if (zeroWhen !== null && chosen === null)
    found.push(
      `${plan.name}: a sample without a reward trains as 0 in ${trainer}, because ${zeroWhen}; choose the number with on_invalid`,
    )
  if (chosen !== null && chosen < lowest)
    found.push(`${plan.name}: on_invalid is ${chosen}, and ${trainer} makes ${lowest} of it`)
  const [low] = rewardRange(plan) ?? []
  if (lowest > Number.NEGATIVE_INFINITY && (low === undefined || low < lowest))
    found.push(
      low === undefined
        ? `${plan.name}: ${trainer} makes ${lowest} of what its formula gives below ${lowest}`
        : `${plan.name}: its rewards go down to ${low}, and ${trainer} makes ${lowest} of what is below`,
    )
  return found
}

/** The number of a sample without a reward, where one is certain: these trainers send no groups. */
function chosenNumber({ onInvalid }: Plan, settings: TrainerSettings | undefined): number | null {
  const own = settings?.on_invalid
  if (typeof own === 'number') return own
  if (typeof own === 'object') return own.group_mean
  if (own !== undefined) return null
  if (onInvalid.kind === 'number') return onInvalid.value
  return onInvalid.kind === 'group_mean' ? onInvalid.fallback : null
}

const when = (without: string): string => (without === 'ever' ? '' : ` ${without}`)

const bare: Sample = {
  id: 'check',
  prompt: 'What is 2 + 2?',
  response: 'It is 4.',
  groundTruth: null,
  rmPrompts: {},
  extraInfo: {},
}

/** A judge that makes no question of a plain sample is not blamed. */
async function showsPrompt(step: PlanStep, functions: FunctionHost): Promise<boolean> {
  const asked = await questionAbout(step, bare, functions)
  return asked?.some((text) => text.includes(String(bare.prompt))) ?? false
}

const figure: ImagePart = { type: 'image', sha256: '0'.repeat(64), size: 1, mediaType: 'image/png' }
const illustrated: Sample = {
  ...bare,
  prompt: [
    {
      role: 'user',
      content: String(bare.prompt),
      parts: [figure, { type: 'text', text: String(bare.prompt) }],
    },
  ],
}

async function showsImages(step: PlanStep, functions: FunctionHost): Promise<boolean> {
  const question = await questionOf(step, illustrated, functions)
  return question !== null && questionImages(shownQuestion(step, question)).length > 0
}

const secretResult = 'result5e81b0'
const turns: readonly Message[] = [
  { role: 'assistant', content: '', toolCalls: [{ name: 'add', arguments: { a: 2, b: 2 } }] },
  { role: 'tool', content: secretResult },
  { role: 'assistant', content: bare.response },
]

async function hidesTurns(step: PlanStep, functions: FunctionHost): Promise<boolean> {
  const asked = await questionAbout(step, { ...bare, turns }, functions)
  return asked !== null && !asked.some((text) => text.includes(secretResult))
}
