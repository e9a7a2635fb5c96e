"""People for tests. Alice annotates, Rita researches, Ada administers, Otto is an outsider without a role."""

import factory
from django.contrib.auth.models import Group

from eqstudio.models import Role, User


class UserFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"person{n}")
    password = factory.django.Password("a-long-password")

    @factory.post_generation
    def role(self, create, extracted, **kwargs):
        if create and extracted:
            self.groups.add(Group.objects.get_or_create(name=Role(extracted).value)[0])


def annotator(**kwargs) -> User:
    return UserFactory(role=Role.ANNOTATOR, **kwargs)


def researcher(**kwargs) -> User:
    return UserFactory(role=Role.RESEARCHER, **kwargs)


def admin(**kwargs) -> User:
    return UserFactory(role=Role.ADMIN, **kwargs)
