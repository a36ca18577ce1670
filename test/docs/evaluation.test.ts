import t from 'tap'
import { followPage } from '../support/page.ts'

t.test('the page on figures does what it says', (t) => followPage(t, 'docs/evaluation.md'))
