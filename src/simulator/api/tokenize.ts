import { type Endpoint, readTexts, requireModel } from '../call.ts'
import { readMessages, renderChat } from '../conversation.ts'
import { badRequest } from '../refusal.ts'
import { remember, rememberText, splitTokens, tokenIds } from '../tokens.ts'

/** POST /tokenize: a `prompt`, or `messages` as the chat endpoint renders them. */
export const tokenize: Endpoint = (call) => {
  requireModel(call)
  const { body, model } = call
  const turns = body.messages === undefined ? undefined : readMessages(body.messages)
  if (turns === null) throw badRequest('messages must be a list of turns', 'messages')
  const [text = ''] = turns
    ? [renderChat(turns, body.add_generation_prompt !== false)]
    : readTexts(body.prompt, 'prompt')
  const tokens = tokenIds(text)
  if (tokens.length === 1) remember(text)
  rememberText(text, tokens)
  const strings = body.return_token_strs === true ? splitTokens(text) : null
  return { json: { count: tokens.length, max_model_len: model.maxModelLen, tokens, token_strs: strings } }
}
