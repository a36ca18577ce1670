import assert from 'node:assert/strict'
import test from 'node:test'
import { judgeContract } from 'reward-gateway/testing'
import polite from './polite.ts'

test('polite keeps its contract', () => {
  judgeContract(assert, polite, {
    asked: { response: 'Gladly: it is Paris.' },
    full: '1',
    zero: '0',
    unreadable: { 'a sentence': 'It is polite: 1', both: '1 or 0', nothing: '' },
  })
})
