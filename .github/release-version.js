/** Fails unless the tag, package.json, pyproject.toml and the changelog name one version, and package.json names this repository. */
import { readFileSync } from 'node:fs'

const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'))
const python = /^version = "(.*)"$/m.exec(readFileSync('clients/python/pyproject.toml', 'utf8'))?.[1]
const {
  GITHUB_REF_NAME: tag = `v${version}`,
  GITHUB_SERVER_URL: server,
  GITHUB_REPOSITORY: name,
} = process.env

const mistakes = []
if (tag !== `v${version}`) mistakes.push(`the tag is ${tag}, package.json says ${version}`)
if (python !== version) mistakes.push(`clients/python/pyproject.toml says ${python}, package.json ${version}`)
if (!readFileSync('CHANGELOG.md', 'utf8').includes(`\n## ${version}\n`))
  mistakes.push(`CHANGELOG.md has no section ${version}`)
if (name !== undefined && repository.url !== `git+${server}/${name}.git`)
  mistakes.push(
    `package.json names the repository ${repository.url}; npm's provenance needs ${server}/${name}`,
  )
for (const mistake of mistakes) process.stderr.write(`${mistake}\n`)
process.exitCode = mistakes.length === 0 ? 0 : 1
