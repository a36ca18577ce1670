import assert from 'node:assert/strict'
import test from 'node:test'
import { ruleContract } from 'reward-gateway/testing'
import lastLine from './last-line.ts'

test('last-line keeps its contract', () => {
  ruleContract(assert, lastLine, {
    full: { response: 'I think so.\nParis', groundTruth: 'Paris' },
    zero: { response: '', groundTruth: 'Paris' },
    malformed: { response: 'Paris, I think', groundTruth: 'Paris' },
    hacks: { 'every capital': { response: 'Rome\nParis or London', groundTruth: 'Paris' } },
  })
})
