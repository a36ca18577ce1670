/** The heads of the records of a run's log. */

/** The version of the format. A log of another version is refused. */
export const format = 1

/** First record of each file. `id` is drawn when the run is created and is part of every cursor. */
export interface OpenHead {
  readonly k: 'open'
  readonly format: number
  readonly run: string
  readonly id: string
  /** The number of the next final when the file was begun. */
  readonly seq: number
  /** The number of the next early result then; absent in files of earlier versions. */
  readonly partial?: number
}

/** A rollout that was accepted. Its body is the JSON that the trainer sent. Times are milliseconds of Unix time. */
export interface AcceptHead {
  readonly k: 'accept'
  readonly uid: string
  readonly attempt: number
  readonly digest: string
  /** Earlier attempts that are remembered. */
  readonly older: readonly OlderAttempt[]
  readonly at: number
  readonly deadline: number
  readonly reward: string
  readonly priority: number
  readonly step?: number | undefined
  /** The sample's group, and how many answers it has. */
  readonly group?: string | undefined
  readonly size?: number | undefined
  /** The policy's version that wrote the first token. */
  readonly policy?: number | string | undefined
  /** It asked for an early result. */
  readonly partial?: true | undefined
  /** The name of the key that sent it. Absent: none was needed, or in files of earlier versions. */
  readonly key?: string | undefined
  /**
   * The number of the last final that was given before. A uid whose final has expired is accepted again from attempt 1: what has a
   * lower number than this belongs to its earlier life. Absent in files of earlier versions.
   */
  readonly since?: number | undefined
  /** Of a copy: the uids of its group that had ended without the others. */
  readonly without?: readonly string[] | undefined
}

export interface OlderAttempt {
  readonly attempt: number
  readonly digest: string
}

/** A judge's answer that a rollout without its final has received. Its body is JSON. */
export interface AnswerHead {
  readonly k: 'answer'
  readonly uid: string
  readonly attempt: number
  /** That of the accepted rollout. */
  readonly since?: number | undefined
  /** Hash of the question. */
  readonly key: string
}

/** The early result of an attempt that asked for it. Its body is the terms of its rules as JSON. */
export interface PartialHead {
  readonly k: 'partial'
  readonly uid: string
  readonly attempt: number
  /** That of the accepted rollout. */
  readonly since?: number | undefined
  /** The number of the early result in its run, from 1. */
  readonly number: number
  readonly at: number
}

/** The one final of an attempt. Its body is the result as JSON. */
export interface FinalHead {
  readonly k: 'final'
  readonly uid: string
  readonly attempt: number
  readonly digest: string
  readonly older: readonly OlderAttempt[]
  /** The number of the final in its run, from 1. */
  readonly seq: number
  readonly at: number
  readonly state: FinalState
  /** The reward's name, and the version of its config that scored it. Absent in files of earlier versions; no version: nothing was scored. */
  readonly reward?: string | undefined
  readonly version?: string | undefined
  /** Finals that count together or not at all: which of how many this is. Absent: it is alone. */
  readonly part?: readonly [index: number, count: number] | undefined
  /** The group of an answer that a reward compares with others: see groupKeyOf. */
  readonly group?: string | undefined
  /** All answers of the group were compared; absent: this one ended without some of them. */
  readonly whole?: true | undefined
}

export type Head = OpenHead | AcceptHead | AnswerHead | PartialHead | FinalHead

/** `damaged`: the rollout's records were damaged on disk, and it was not scored. */
export type FinalState = 'scored' | 'invalid' | 'cancelled' | 'damaged'
