/** Simulated model servers: the double for vLLM and SGLang in the demo, tests, benchmarks and chaos runs. */
export { Attempts } from './attempts.ts'
export { type Fault, type FaultKind, faultKinds } from './faults.ts'
export { JudgePrompt } from './judge-prompt.ts'
export type { SimulatedServerOptions } from './options.ts'
export { type PolicyName, policyNames } from './policies/named.ts'
export type { Draw, Policy, Verdict } from './policies/policy.ts'
export { type SimulatedServer, startSimulatedServer } from './server.ts'
export type { ServerStats } from './stats.ts'
