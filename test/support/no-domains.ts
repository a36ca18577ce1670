/**
 * Preloaded by `npm test`. tap watches each promise of a test, to tell whose an error is that nobody catches: up to a quarter of
 * the processor time where requests are many. Without that, such an error ends the process, and so fails the whole file.
 */
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const { createHook } = asyncHooks
const none: asyncHooks.AsyncHook = { enable: () => none, disable: () => none }
const isOfTap = () => /node_modules.async-hook-domain/.test(new Error().stack ?? '')

asyncHooks.createHook = (callbacks) => (isOfTap() ? none : createHook(callbacks))
syncBuiltinESMExports()
