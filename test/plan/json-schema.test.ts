import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parseConfig } from '../../src/plan/config-text.ts'
import { isGatewayFile } from '../../src/plan/configs.ts'
import { configSchemas } from '../../src/plan/json-schema.ts'

const folder = join('rm-configs')

t.test('the JSON Schemas beside the configs are those of the code (UPDATE=1 writes them)', async (t) => {
  for (const [name, schema] of Object.entries(configSchemas())) {
    const file = join(folder, name)
    const text = `${JSON.stringify(schema, null, 2)}\n`
    if (process.env.UPDATE) writeFileSync(file, text)
    t.equal(readFileSync(file, 'utf8'), text, `${name} is up to date`)
  }
})

t.test('every shipped config fits its JSON Schema and names it for editors', async (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const schemas = configSchemas()
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
    const text = readFileSync(join(folder, file), 'utf8')
    const name = isGatewayFile(file) ? 'gateway.schema.json' : 'reward.schema.json'
    t.match(text, new RegExp(`^# yaml-language-server: \\$schema=\\./${name}\n`), file)
    const validate = ajv.compile(schemas[name] ?? {})
    t.ok(validate(parseConfig({ file, text }, {}).value), `${file}: ${ajv.errorsText(validate.errors)}`)
  }
})
