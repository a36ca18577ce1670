/** What a trainer leaves out that a reward needs. */
import type { Message, Sample } from '../../core/sample/sample.ts'
import type { FunctionHost } from '../../scoring/functions/function-host.ts'
import type { Plan, PlanStep } from '../../scoring/plan/plan.ts'
import { type SentByTrainer, sentByTrainers } from '../../trainers/sent.ts'
import { questionAbout } from './questions.ts'

/** Warnings about a reward for one trainer, as sentences. */
export async function trainerWarnings(
  plan: Plan,
  trainer: keyof typeof sentByTrainers,
  functions: FunctionHost,
): Promise<readonly string[]> {
  const sent: SentByTrainer = sentByTrainers[trainer]
  const found: string[] = []
  const compares = plan.steps.find(({ kind }) => kind === 'group-rule' || kind === 'pair' || kind === 'list')
  if (compares && !sendsGroups.has(trainer))
    found.push(
      `${plan.name}, step ${compares.name}: compares the answers of a group, but ${trainer} sends each answer alone, so each request is refused`,
    )
  for (const step of plan.steps) {
    const where = `${plan.name}, step ${step.name} (${step.function.name})`
    if (step.ask === null) continue
    if (sent.withoutPrompt !== null && (await showsPrompt(step, functions)))
      found.push(
        `${where}: asks about the prompt, and ${trainer} sends none${when(sent)}; let the ground truth carry the question as rm_prompt`,
      )
    if (sent.turns && (await hidesTurns(step, functions)))
      found.push(
        `${where}: does not show what tools answered and what the policy did before its last turn, which ${trainer} sends; transcript(sample) shows it`,
      )
  }
  if (sent.turns && plan.steps.some(({ ask }) => ask === null))
    found.push(
      `${plan.name}: ${trainer} sends all turns, and rules read the text of the assistant's last one as the response; earlier versions joined all turns`,
    )
  return found
}

/** Trainers whose requests can say which answers are one group, or hold whole groups. */
const sendsGroups: ReadonlySet<string> = new Set(['nemo-gym', 'verl', 'easyr1'])

const when = ({ withoutPrompt }: SentByTrainer): string =>
  withoutPrompt === 'ever' ? '' : ` ${withoutPrompt}`

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
