/** What rollouts get that are not scored. */
import type { Failure, Outcome } from '../../core/sample/sample.ts'
import type { Pending } from './run-state.ts'

export const tooLate: Failure = {
  kind: 'deadline',
  retryable: true,
  detail: "the rollout's deadline passed before it was scored",
}

/** The same of a rollout whose reward was gone. */
export const tooLateFor = (reward: string): Failure => ({
  ...tooLate,
  detail: `the rollout's deadline passed while no config had its reward '${reward}'`,
})

export const cancelled: Failure = {
  kind: 'cancelled',
  retryable: true,
  detail: 'cancelled by the trainer',
}

export const damaged = (damage: string): Failure => ({
  kind: 'cancelled',
  retryable: true,
  detail: `not scored, because the queue's log is damaged: ${damage}; submit the rollout as a new attempt`,
})

/** `count`: the answers of its group that had come by the deadline. */
export const incomplete = ({ head: { group, size } }: Pending, count: number): Failure => ({
  kind: 'group_incomplete',
  retryable: true,
  detail: `the group '${group}' has ${count} of its ${size} answers at the deadline`,
})

/** `ended`: answers of its group that were cancelled, or have ended in another way, before the others had come. */
export const withoutOthers = ({ head: { group, size } }: Pending, count: number, ended: number): Failure => ({
  kind: 'group_incomplete',
  retryable: true,
  detail: `the group '${group}' has ${count} of its ${size} answers and cannot be complete: ${ended} had ended before`,
})

/** `most`: bytes that the answers of a group may have. */
export const tooLarge = ({ head: { group, size } }: Pending, count: number, most: number): Failure => ({
  kind: 'group_incomplete',
  retryable: false,
  detail: `the answers of the group '${group}' have more than ${most} bytes together (${count} of ${size} were here); more do not fit into this gateway's memory`,
})

/** An outcome without any term. */
export const unscored = ({ head }: Pending, failure: Failure): Outcome => ({
  id: head.uid,
  terms: [],
  flags: [],
  valid: false,
  failure,
  substitute: null,
})
